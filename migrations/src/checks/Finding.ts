/**
 * A fault in the isolation of tenants, and how to remove it.
 *
 * @public
 */
export interface IsolationFinding {
  /** A sentence without its full stop. */
  problem: string;
  /** How to remove it, with the statements to run in double quotes; without a full stop. */
  remedy: string;
  /** Statements that are too long for a sentence. */
  script?: string;
  /** The predicate, if it is about the database user itself: `is a superuser`. */
  ofUser?: string;
}

/**
 * Runs a query of PostgreSQL's own catalogs, with its values as `$1`, `$2` and so on.
 *
 * @public
 */
export type QueryRows = <Row extends object>(
  sql: string,
  values: unknown[],
) => Promise<Row[]>;

/** `run "…", "…"`. */
export function run(...statements: string[]): string {
  return `run ${statements.map(statement => `"${statement}"`).join(', ')}`;
}

/**
 * A finding as a sentence, and what to run below it.
 *
 * @public
 */
export function describeFinding({
  problem,
  remedy,
  script,
}: IsolationFinding): string {
  return script
    ? `${problem}: ${remedy}:\n${script.replace(/^/gm, '    ')}`
    : `${problem}: ${remedy}.`;
}

import { escapeIdentifier } from '../sql';

/**
 * Something that is not as it has to be, and what to do about it.
 *
 * @public
 */
export interface IsolationFinding {
  /** A sentence without its full stop. */
  problem: string;
  /** What to do, with the statements to run in double quotes; no full stop either. */
  remedy: string;
  /** Statements that are too long for a sentence, as they are to be run. */
  script?: string;
  /** What is wrong with the database user itself, where it is that: `is a superuser`. */
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

/** Whom something was granted to; null stands for everybody. */
export type Grantee = string | null;

/** `run "…", "…"`. */
export function run(...statements: string[]): string {
  return `run ${statements.map(statement => `"${statement}"`).join(', ')}`;
}

/** The statement that takes a right from all that it was granted to. */
export function revoke(
  privileges: string,
  object: string,
  grantees: Grantee[],
): string {
  const names = grantees.map(name =>
    name === null ? 'public' : escapeIdentifier(name),
  );
  return `revoke ${privileges} on ${object} from ${distinct(names).join(', ')}`;
}

export function distinct<T>(values: T[]): T[] {
  return [...new Set(values)];
}

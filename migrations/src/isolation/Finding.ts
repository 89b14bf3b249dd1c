import { escapeIdentifier } from '../sql';

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

/** The role of a grant; null stands for PUBLIC. */
export type Grantee = string | null;

/** `run "…", "…"`. */
export function run(...statements: string[]): string {
  return `run ${statements.map(statement => `"${statement}"`).join(', ')}`;
}

/** The statement that revokes privileges from all their grantees. */
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

import { BackendStartupError } from '@backstage/backend-app-api';
import { toError } from '@backstage/errors';
import { DatabaseError } from 'pg';
import { EngineTablesError } from '../tables/TablesSession';

// The longest part kept of a message by a module or a library.
const LONGEST_REASON = 500;

const INSUFFICIENT_PRIVILEGE = '42501';

/** PostgreSQL's codes for a missing schema or table. */
const UNDEFINED = new Set(['3F000', '42P01']);

/** Of a column of a table that the statement does not read: a request may name it to sort by it. */
const NOT_READ = 'errorMissingRTE';

/** Whether the tables of an engine are missing, by the code of an error. */
export function saysTablesAreGone(error: unknown): boolean {
  const { code = '', routine } = databaseErrorOf(error) ?? {};
  return UNDEFINED.has(code) && routine !== NOT_READ;
}

/** PostgreSQL's code of an error: see {@link databaseErrorOf}. */
export function sqlStateOf(error: unknown): string | undefined {
  return databaseErrorOf(error)?.code;
}

/**
 * PostgreSQL's error, which may be the cause of an error. Knex puts the statement into its
 * message.
 */
export function databaseErrorOf(error: unknown): DatabaseError | undefined {
  if (error instanceof DatabaseError) {
    return error;
  }
  return error instanceof Error && error.cause !== undefined
    ? databaseErrorOf(error.cause)
    : undefined;
}

/**
 * An error in a line, without SQL and without a stack.
 *
 * @param conceal - changes the message of a module or a library before it is cut
 */
export function describeFailure(
  error: unknown,
  conceal: (message: string) => string = message => message,
): string {
  const causes =
    error instanceof BackendStartupError ? causesOf(error) : [error];
  return causes.map(cause => describe(cause, conceal)).join('; ');
}

function causesOf(error: BackendStartupError): unknown[] {
  return error.result.plugins
    .flatMap(plugin => [plugin, ...plugin.modules])
    .flatMap(({ failure }) => (failure ? [failure.error] : []));
}

function describe(
  error: unknown,
  conceal: (message: string) => string,
): string {
  if (error instanceof EngineTablesError) {
    // Says what to do, and what PostgreSQL said; its cause is an error of a statement.
    return error.message.replaceAll(/\s+/g, ' ');
  }
  const sqlState = sqlStateOf(error);
  if (sqlState !== undefined) {
    if (sqlState === INSUFFICIENT_PRIVILEGE) {
      // Names objects and roles, and no values.
      return `${databaseErrorOf(error)!.message}: grant it (${sqlState})`;
    }
    return saysTablesAreGone(error)
      ? `its tables are not there (${sqlState})`
      : `the database refused a statement (${sqlState})`;
  }
  const [line] = conceal(toError(error).message).split('\n');
  return line.slice(0, LONGEST_REASON);
}

/** A module's error may quote its configuration. */
export function withoutSecrets(
  error: unknown,
  secrets: readonly string[],
): unknown {
  // A message may quote a value as JSON.
  const texts = secrets.flatMap(secret => [
    secret,
    JSON.stringify(secret).slice(1, -1),
  ]);
  const kept = describeFailure(error, message =>
    texts.reduce((text, each) => text.replaceAll(each, '***'), message),
  );
  return kept === describeFailure(error) ? error : new Error(kept);
}

import { InputError } from '@backstage/errors';
import type { Knex } from 'knex';
import {
  DatabaseError,
  escapeIdentifier,
  escapeLiteral,
  type PoolClient,
  type QueryResult,
} from 'pg';
import type { RunningTransaction } from './Canceller';

/** A query of `pg`, its parameters written `$1`, `$2`, … */
export interface Statement {
  text: string;
  values?: unknown[];
  /**
   * The extended protocol takes one statement at a time: a second one behind a semicolon is an
   * error. Without it, `pg` uses that protocol only for a query with values.
   */
  queryMode?: 'extended';
}

/** Beyond it, the number of parameters does not fit into the protocol. */
const MAX_VALUES = 65_535;

/** What a transaction is for. Everything else would change the session or end it. */
const ALLOWED = [
  'select',
  'insert',
  'update',
  'delete',
  'merge',
  'with',
  'values',
  'table',
  'explain',
  'lock',
];

// White space, comments and parentheses may stand in front.
const FIRST_WORD = /^(?:[\s(]|--[^\n]*\n|\/\*[^]*?\*\/)*([a-z_]*)/i;

/**
 * A statement that Knex has built, as PostgreSQL takes it.
 *
 * Transaction control and settings are refused: they belong to the pool.
 *
 * @throws `Error` for a statement that can't be sent; it does not quote it
 */
export function compileStatement(
  statement: Knex.QueryBuilder | Knex.Raw,
): Statement {
  const { sql, bindings } = toNative(statement);
  const word = FIRST_WORD.exec(sql)?.[1].toLowerCase() ?? '';
  if (!ALLOWED.includes(word)) {
    throw new Error(
      `A statement may not begin with "${word}". Expected one of: ${ALLOWED.join(
        ', ',
      )}. Transactions and settings belong to the pool.`,
    );
  }
  if (sql.includes('\0')) {
    throw new Error('A statement may have no NUL character');
  }
  if (bindings.length > MAX_VALUES) {
    throw new Error(
      `A statement has ${bindings.length} values, where at most ${MAX_VALUES} can be sent`,
    );
  }
  return { text: sql, values: [...bindings], queryMode: 'extended' };
}

function toNative(statement: Knex.QueryBuilder | Knex.Raw): Knex.SqlNative {
  try {
    return statement.toSQL().toNative();
  } catch (error) {
    // Knex quotes the statement, with its values, behind its reason.
    const [reason] = (error instanceof Error ? error.message : '').split(
      ' when compiling ',
    );
    throw new Error(
      `A statement can't be built: ${
        reason.startsWith('Undefined binding')
          ? 'one of its values is undefined'
          : 'Knex refuses it'
      }`,
      { cause: error },
    );
  }
}

const TENANT_SETTING = 'app.tenant_id';
const ADMIN_ROLE = 'portal_admin';

/** A table of the migration that is there while tenants can be served. */
export const READY_TABLE = 'tenancy_ready';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** As whom, and for which tenant, a transaction works. */
export interface SessionContext {
  /** Empty where no tenant is set: the policies then refuse their tables. */
  tenantId: string;
  /** `none` is the database user itself. */
  role: 'none' | typeof ADMIN_ROLE;
  schema: string;
  /** In milliseconds; 0 is none. */
  statementTimeoutMs: number;
  /** It begins only where tenants can be served: see {@link begin}. */
  whenReady: boolean;
}

/** @throws `InputError` unless it is a UUID */
export function parseTenantId(tenantId: unknown): string {
  if (typeof tenantId !== 'string' || !UUID.test(tenantId)) {
    throw new InputError(
      `The tenant id ${JSON.stringify(tenantId)?.slice(0, 80)} is no UUID, ` +
        `such as "00000000-0000-0000-0000-000000000001"`,
    );
  }
  return tenantId.toLowerCase();
}

export function createContext(
  schema: string,
  settings: { tenantId?: string; asAdmin?: boolean },
  options: { statementTimeoutMs?: number; whenReady?: boolean } = {},
): SessionContext {
  const { statementTimeoutMs = 0, whenReady = false } = options;
  return {
    schema,
    statementTimeoutMs,
    whenReady,
    tenantId: 'tenantId' in settings ? parseTenantId(settings.tenantId) : '',
    role: settings.asAdmin ? ADMIN_ROLE : 'none',
  };
}

/**
 * Whether a connection has its session for itself, which PostgreSQL then ends at the first error
 * outside of a transaction: what is sent behind a {@link begin} that fails does not run.
 *
 * A pooler such as PgBouncer greets with a number of its own in place of that of the process.
 * `pg` has the number in a property that its types do not list: without it, no connection counts
 * as direct.
 */
export async function isDirect(
  client: PoolClient & { processID?: unknown },
): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>(
    'select pg_catalog.pg_backend_pid() as pid',
  );
  if (rows[0].pid !== client.processID) {
    return false;
  }
  await client.query('set exit_on_error = on');
  return true;
}

/**
 * Errors in a transaction do not end the session. An error takes back the settings of its
 * subtransaction: outside of that, this one lasts up to the end of the transaction.
 */
const MAY_FAIL = 'set local exit_on_error = off; savepoint entered; ';

/** What {@link begin} answers. */
export interface Entered extends RunningTransaction {
  /** The tables may be on other servers: {@link enterOnNodes}. */
  citus: boolean;
}

/**
 * Begins a transaction, and sets what it depends on, all of it and for this transaction only:
 * whatever the connection was left with, by others behind the same connection pooler for
 * instance, has no effect on it. Where a part of it fails, the transaction fails as a whole.
 * Above READ COMMITTED, which a database may have by default, a write that has waited for another
 * one would fail.
 *
 * Several statements in one text take no parameters, so the values are literals. Functions are
 * named with their schema, since the search path is not ours yet. Temporary tables come last in
 * ours, or one could stand in front of a table.
 *
 * With `whenReady` it names {@link READY_TABLE}. The migration has that table while the
 * tables of tenants are in their place, and drops it before it takes them back. Where it
 * is missing, this fails, and so does all that stands behind it. Where it is there,
 * PostgreSQL holds a lock on it (ACCESS SHARE, which nothing but that drop waits for)
 * until the end of the transaction: what follows finds the tables that were there at
 * this moment. A query that nothing refers to is locked like any other, and neither
 * planned nor run: it takes a microsecond, where `exists (…)` takes twenty.
 */
export function begin(
  context: SessionContext,
  { direct }: { direct: boolean },
): Statement {
  const { role, tenantId, schema, statementTimeoutMs } = context;
  const searchPath = escapeLiteral(`${escapeIdentifier(schema)}, pg_temp`);
  const settings = [
    set('role', `'${role}'`),
    set('search_path', searchPath),
    set('row_security', `'on'`),
    // Filters are many small expressions, which take longer to compile than to run.
    set('jit', `'off'`),
    // One that the operator has given the database user is left as it is.
    set(
      'statement_timeout',
      `case pg_catalog.current_setting('statement_timeout') when '0' then '${statementTimeoutMs}' else pg_catalog.current_setting('statement_timeout') end`,
    ),
    set(TENANT_SETTING, `'${tenantId}'`),
    // What the database or a user may have set otherwise: what statements mean, and how dates
    // and the policies that the checks at the start compare are spelled.
    set('datestyle', `'ISO, MDY'`),
    set('quote_all_identifiers', `'off'`),
    set('standard_conforming_strings', `'on'`),
    // For enterOnNodes(); it means nothing without Citus.
    set('citus.propagate_set_commands', `'local'`),
  ];
  return {
    text:
      `begin isolation level read committed; ${
        direct ? MAY_FAIL : ''
      }${lookForTables(context)}select ${settings.join(', ')}, ` +
      `pg_catalog.to_regclass('pg_catalog.pg_dist_node') is not null as citus, ` +
      `pg_catalog.pg_backend_pid() as pid, extract(epoch from pg_catalog.now())::text as "startedAt"`,
  };
}

/**
 * Sets the tenant also where Citus keeps the rows of tenants on other servers. It passes on only
 * what `SET LOCAL` sets, in a message of its own behind an explicit `BEGIN`. The tenant is sent
 * without one too: a connection between nodes may have kept one that a statement has set there.
 */
export function enterOnNodes({ tenantId }: SessionContext): Statement {
  return { text: `set local ${TENANT_SETTING} = '${tenantId}'` };
}

/** @param value - an expression; a UUID, a role and a number need no escape as literals */
function set(name: string, value: string): string {
  return `pg_catalog.set_config('${name}', ${value}, true)`;
}

function lookForTables({ schema, whenReady }: SessionContext): string {
  return whenReady
    ? `with ready as (select from ${escapeIdentifier(schema)}.${READY_TABLE}) `
    : '';
}

/**
 * Resets tenant and role as the last thing in a transaction, and for the session:
 * a setting that a statement has made beyond the transaction, such as
 * `set_config('${TENANT_SETTING}', …, false)`, does not outlast it. Then it commits.
 *
 * It fails, and with it the transaction, if they are not what they were set to, for
 * then statements have run as another tenant or role; or if the session has temporary
 * tables, which would show the rows of one tenant to the next. `role ""` is the
 * error for all of that. The reset of the tenant takes the outcome of the other, so
 * that it comes after it. For {@link hasWritten} it also tells whether the transaction
 * has an id: PostgreSQL gives it one with the first row that it writes or locks.
 */
export function leaveAndCommit({ tenantId, role }: SessionContext): Statement {
  return {
    text: `select set_config('${TENANT_SETTING}', left(set_config('role', case when current_setting('${TENANT_SETTING}', true) = '${tenantId}' and current_setting('role') = '${role}' and pg_my_temp_schema() = 0 then 'none' else '' end, false), 0), false), pg_current_xact_id_if_assigned() is not null as wrote; commit`,
  };
}

/** @param left - the first result of {@link leaveAndCommit} */
export function hasWritten(left: QueryResult): boolean {
  return left.rows[0].wrote;
}

/** The error that {@link leaveAndCommit} raises by itself. */
export function isContextChange(error: Error): boolean {
  return error instanceof DatabaseError && error.code === '22023';
}

/** What that error means. */
export const CONTEXT_CHANGED =
  'A statement has changed the tenant or the role of its own transaction, or has ' +
  'made a temporary table: the transaction was rolled back';

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
   * The extended protocol accepts one statement only: a second one after a semicolon is an
   * error. By default, `pg` uses it only for queries with values.
   */
  queryMode?: 'extended';
}

/** The protocol's limit of parameters. */
const MAX_VALUES = 65_535;

/** Statements that read or write rows. Others could change the session or end the transaction. */
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

// Skips white space, comments and parentheses.
const FIRST_WORD = /^(?:[\s(]|--[^\n]*\n|\/\*[^]*?\*\/)*([a-z_]*)/i;

/**
 * Compiles a statement of Knex for `pg`.
 *
 * Refuses transaction control and settings, which belong to the pool.
 *
 * @throws `Error` for a statement that cannot be sent, without quoting it
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
      `A statement has ${bindings.length} values. Expected at most ${MAX_VALUES}`,
    );
  }
  return { text: sql, values: [...bindings], queryMode: 'extended' };
}

function toNative(statement: Knex.QueryBuilder | Knex.Raw): Knex.SqlNative {
  try {
    return statement.toSQL().toNative();
  } catch (error) {
    // Knex's message quotes the statement with its values after the reason.
    const [reason] = (error instanceof Error ? error.message : '').split(
      ' when compiling ',
    );
    throw new Error(
      `Cannot build a statement: ${
        reason.startsWith('Undefined binding')
          ? 'one of its values is undefined'
          : 'Knex refuses it'
      }`,
      { cause: error },
    );
  }
}

const TENANT_SETTING = 'app.tenant_id';
export const ADMIN_ROLE = 'portal_admin';

/** A table that exists while the tables of phase 5 are in place. */
export const READY_TABLE = 'tenancy_ready';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The tenant, role and settings of a transaction. */
export interface SessionContext {
  /** Empty if no tenant is set; the policies then refuse access to their tables. */
  tenantId: string;
  /** `none` is the database user itself. */
  role: string;
  schema: string;
  /** In milliseconds; 0 means no limit. */
  statementTimeoutMs: number;
  /** Fails unless the tables are in place: see {@link begin}. */
  whenReady: boolean;
}

/** @throws `InputError` unless it is a UUID */
export function parseTenantId(tenantId: unknown): string {
  if (typeof tenantId !== 'string' || !UUID.test(tenantId)) {
    throw new InputError(
      `The tenant id ${JSON.stringify(tenantId)?.slice(0, 80)} is not a UUID ` +
        `such as "00000000-0000-0000-0000-000000000001"`,
    );
  }
  return tenantId.toLowerCase();
}

export function createContext(
  schema: string,
  settings: { tenantId?: string; asAdmin?: boolean },
  options: {
    statementTimeoutMs?: number;
    whenReady?: boolean;
    role?: string;
  } = {},
): SessionContext {
  const { statementTimeoutMs = 0, whenReady = false, role = 'none' } = options;
  return {
    schema,
    statementTimeoutMs,
    whenReady,
    tenantId: 'tenantId' in settings ? parseTenantId(settings.tenantId) : '',
    role: settings.asAdmin ? ADMIN_ROLE : role,
  };
}

/**
 * Whether a connection has a PostgreSQL session for itself. If so, sets `exit_on_error`, which
 * ends the session at an error outside of a transaction: statements sent behind a failed {@link
 * begin} then do not run.
 *
 * A pooler such as PgBouncer reports its own number instead of the server's process id. `pg`
 * keeps the number in a property that its types do not list; if that is missing, no connection
 * counts as direct.
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
 * Prevents errors inside a transaction from ending the session. An error reverts settings made
 * in its subtransaction, so the setting is made before the savepoint and lasts until the end of
 * the transaction.
 */
const MAY_FAIL = 'set local exit_on_error = off; savepoint entered; ';

/** The result of {@link begin}. */
export interface Entered extends RunningTransaction {
  /** The tables may be on other servers: {@link enterOnNodes}. */
  citus: boolean;
}

/**
 * Begins a transaction and sets all settings that it depends on, with SET LOCAL semantics, so
 * that earlier settings of the session (for example by other clients of a pooler) have no
 * effect. If one fails, the transaction fails. READ COMMITTED, because at a stricter default
 * isolation level a write that waited for another one would fail.
 *
 * A text of several statements takes no parameters, so the values are literals. Functions are
 * schema-qualified, because the search path is not set yet. `pg_temp` is last in the search
 * path, so that a temporary table cannot hide a table.
 *
 * With `whenReady` it refers to {@link READY_TABLE}, which exists while the tables of phase 5
 * are in place; the migration drops it before a rollback. If it is missing, `begin` fails, and
 * so do all statements behind it. Otherwise PostgreSQL holds ACCESS SHARE on it until the end
 * of the transaction, which blocks only that drop: the tables cannot be rolled back meanwhile.
 * An unreferenced CTE is locked but neither planned nor executed: it takes a microsecond,
 * `exists (…)` twenty.
 */
export function begin(
  context: SessionContext,
  { direct }: { direct: boolean },
): Statement {
  const { role, tenantId, schema, statementTimeoutMs } = context;
  const searchPath = escapeLiteral(`${escapeIdentifier(schema)}, pg_temp`);
  const settings = [
    set('role', escapeLiteral(role)),
    set('search_path', searchPath),
    set('row_security', `'on'`),
    // With a limit, GIN indexes return a random subset of the results.
    set('gin_fuzzy_search_limit', `'0'`),
    // Compiling the many small expressions of filters takes longer than running them.
    set('jit', `'off'`),
    // Keeps a timeout that the operator has set for the database user.
    set(
      'statement_timeout',
      `case pg_catalog.current_setting('statement_timeout') when '0' then '${statementTimeoutMs}' else pg_catalog.current_setting('statement_timeout') end`,
    ),
    set(TENANT_SETTING, `'${tenantId}'`),
    // The database or user may have other defaults for these, which change the meaning of
    // statements, and the spelling of dates and of the policies that the startup checks
    // compare.
    set('datestyle', `'ISO, MDY'`),
    set('quote_all_identifiers', `'off'`),
    set('standard_conforming_strings', `'on'`),
    // For enterOnNodes(); has no effect without Citus.
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
 * Sets the tenant on the nodes of Citus, which propagates only a separate `SET LOCAL` after an
 * explicit `BEGIN`. Also sent without a tenant, to clear one that a statement left on a
 * connection between nodes.
 */
export function enterOnNodes({ tenantId }: SessionContext): Statement {
  return { text: `set local ${TENANT_SETTING} = '${tenantId}'` };
}

/** @param value - an SQL expression; UUIDs, roles and numbers need no escaping */
function set(name: string, value: string): string {
  return `pg_catalog.set_config('${name}', ${value}, true)`;
}

function lookForTables({ schema, whenReady }: SessionContext): string {
  return whenReady
    ? `with ready as (select from ${escapeIdentifier(schema)}.${READY_TABLE}) `
    : '';
}

/**
 * Resets tenant and role for the session and commits. This also undoes a session-level setting
 * of a statement, such as `set_config('${TENANT_SETTING}', …, false)`.
 *
 * Fails, and rolls back, if tenant or role differ from what {@link begin} set, because
 * statements may have run as another tenant; and if the session has temporary tables, which
 * would leak rows to the next tenant. The error in each case is the invalid `role ""`. The
 * reset of the tenant uses the result of the reset of the role, which forces their order. For
 * {@link hasWritten} it also returns whether the transaction has an id, which PostgreSQL
 * assigns with the first row written or locked.
 */
export function leaveAndCommit({ tenantId, role }: SessionContext): Statement {
  const own = escapeLiteral(role);
  return {
    text: `select set_config('${TENANT_SETTING}', left(set_config('role', case when current_setting('${TENANT_SETTING}', true) = '${tenantId}' and current_setting('role') = ${own} and pg_my_temp_schema() = 0 then 'none' else '' end, false), 0), false), pg_current_xact_id_if_assigned() is not null as wrote; commit`,
  };
}

const READS = /^\s*(select|with)\b/i;
const CHANGES = /\b(insert|update|delete|merge)\b/i;

/**
 * Whether a statement reads, by its words: a function that it calls may write all the same.
 *
 * @public
 */
export function isRead({ text }: { text: string }): boolean {
  return READS.test(text) && !CHANGES.test(text);
}

/** @param left - the first result of {@link leaveAndCommit} */
export function hasWritten(left: QueryResult): boolean {
  return left.rows[0].wrote;
}

/** The error that {@link leaveAndCommit} raises for a changed context. */
export function isContextChange(error: Error): boolean {
  return error instanceof DatabaseError && error.code === '22023';
}

/** The message for that error. */
export const CONTEXT_CHANGED =
  'A statement has changed the tenant or the role of its own transaction, or has ' +
  'made a temporary table: the transaction was rolled back';

import { InputError } from '@backstage/errors';
import type { QueryResult } from 'pg';
import type { Statement } from './Batch';

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
  /** It begins only where tenants can be served: see {@link enter}. */
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

// Filters are many small expressions, which take longer to compile than to run: hence no JIT.
// A timeout that the operator has given the database user is left as it is.
const SETTINGS = `set_config('role', $1, true), set_config('search_path', $2, true), set_config('row_security', 'on', true), set_config('jit', 'off', true), set_config('statement_timeout', case current_setting('statement_timeout') when '0' then $3 else current_setting('statement_timeout') end, true), ${setMeaning()}`;

/**
 * What changes the meaning of our statements or the spelling of what they return, where a
 * database or a user sets it otherwise.
 */
function setMeaning(): string {
  return Object.entries({
    datestyle: 'ISO, MDY',
    // The checks at the start compare names and policies.
    quote_all_identifiers: 'off',
    standard_conforming_strings: 'on',
  })
    .map(([name, value]) => `set_config('${name}', '${value}', true)`)
    .join(', ');
}

/**
 * Sets what a transaction depends on, all of it and for this transaction only: whatever the
 * connection was left with, by others behind the same connection pooler for instance, has no
 * effect on it. It stands first in a batch, which PostgreSQL takes for a transaction.
 *
 * Temporary tables come last in the search path, or one could stand in front of a table.
 *
 * With `whenReady` it names {@link READY_TABLE}. The migration has that table while the
 * tables of tenants are in their place, and drops it before it takes them back. Where it
 * is missing, this fails, and so does all that stands behind it. Where it is there,
 * PostgreSQL holds a lock on it (ACCESS SHARE, which nothing but that drop waits for)
 * until the end of the transaction: what follows finds the tables that were there at
 * this moment. A query that nothing refers to is locked like any other, and neither
 * planned nor run: it takes a microsecond, where `exists (…)` takes twenty.
 */
export function enter(context: SessionContext): Statement {
  return {
    text: `${lookForTables(
      context,
    )}select ${SETTINGS}, set_config('${TENANT_SETTING}', $4, true)`,
    values: [...settingsOf(context), context.tenantId],
  };
}

/**
 * The same as {@link enter} for a transaction that it begins: also where Citus keeps the
 * rows of tenants on other servers, and where the database or the user has another isolation
 * level by default. Above READ COMMITTED a write that has waited for another one fails.
 *
 * Citus passes settings on to these only if `SET LOCAL` makes them, behind an explicit `BEGIN`, and
 * with `citus.propagate_set_commands`, which means nothing elsewhere. The tenant is sent
 * without one too: a connection between nodes may have kept one that a statement has set there.
 * `SET` takes no parameters, so the text has the id, which {@link parseTenantId} has checked.
 */
export function begin(context: SessionContext): Statement[] {
  const { tenantId } = context;
  return [
    { text: 'begin isolation level read committed' },
    {
      text: `${lookForTables(
        context,
      )}select ${SETTINGS}, set_config('citus.propagate_set_commands', 'local', true), to_regclass('pg_catalog.pg_dist_node') is not null or current_setting('default_transaction_isolation') <> 'read committed' as citus`,
      values: settingsOf(context),
    },
    {
      text: `set local ${TENANT_SETTING} = '${
        tenantId && parseTenantId(tenantId)
      }'`,
    },
  ];
}

/**
 * Whether transactions need {@link begin}, for Citus or for their isolation level.
 *
 * @param results - of {@link begin}, and of what follows it
 */
export function hasCitus([, settings]: QueryResult[]): boolean {
  return settings.rows[0].citus;
}

function settingsOf({ role, schema, statementTimeoutMs }: SessionContext) {
  return [role, `${quoted(schema)}, pg_temp`, String(statementTimeoutMs)];
}

function lookForTables({ schema, whenReady }: SessionContext): string {
  return whenReady
    ? `with ready as (select from ${quoted(schema)}.${READY_TABLE}) `
    : '';
}

function quoted(schema: string): string {
  return `"${schema.replace(/"/g, '""')}"`;
}

/**
 * Resets tenant and role as the last thing in a transaction, and for the session:
 * a setting that a statement has made beyond the transaction, such as
 * `set_config('${TENANT_SETTING}', …, false)`, does not outlast it.
 *
 * It fails, and with it the transaction, if they are not what they were set to, for
 * then statements have run as another tenant or role; or if the session has temporary
 * tables, which would show the rows of one tenant to the next. `role ""` is the
 * error for all of that. The reset of the tenant takes the outcome of the other, so
 * that it comes after it. For {@link hasWritten} it also tells whether the transaction
 * has an id: PostgreSQL gives it one with the first row that it writes or locks.
 */
export function leave({ tenantId, role }: SessionContext): Statement {
  return {
    text: `select set_config('${TENANT_SETTING}', left(set_config('role', case when current_setting('${TENANT_SETTING}', true) = $1 and current_setting('role') = $2 and pg_my_temp_schema() = 0 then 'none' else '' end, false), 0), false), pg_current_xact_id_if_assigned() is not null as wrote`,
    values: [tenantId, role],
  };
}

/** @param left - the result of {@link leave} */
export function hasWritten(left: QueryResult): boolean {
  return left.rows[0].wrote;
}

/** What {@link leave} has found. */
export const CONTEXT_CHANGED =
  'A statement has changed the tenant or the role of its own transaction, or has ' +
  'made a temporary table: the transaction was rolled back';

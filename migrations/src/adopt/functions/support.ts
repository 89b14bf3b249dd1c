import { DEFAULT_TENANT_ID } from '../../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../../sql';
import type { EngineTable } from '../engine';
import { FAULTS, UNKNOWN_KEY } from '../state';

/** Where our tables stand, of which the functions are made. */
export interface Target {
  /** The schema of our tables. */
  schema: string;
}

/** What every function takes first, or before its own parameters. */
export const ENGINE_PARAMETERS = 'p_tenant uuid, p_engine text';

/**
 * The settings with which a function runs in any session. It needs no session setting of a
 * tenant: the functions belong to `portal_admin`, which bypasses row-level security or passes it
 * by a policy. With `row_security = off`, which a login may have, that policy would make a query fail.
 *
 * The functions serve all tenants, so the tenant is a parameter of their statements. A
 * generic plan would lock every partition of a table before it finds the one that it needs;
 * a custom plan, made for the parameter's value, names that partition alone.
 */
export function functionSettings({ schema }: Target): string {
  // pg_temp last: a temporary table cannot take the place of one of ours.
  return `set search_path = pg_catalog, ${escapeIdentifier(
    schema,
  )}, pg_temp set row_security = on set plan_cache_mode = force_custom_plan`;
}

/**
 * A statement of PL/pgSQL that runs SQL on the tables of the engine, which are in the
 * schema `p_engine`: in the SQL `ENGINE.` stands before their names. `$1` is the tenant, and
 * the other values follow.
 *
 * @param into - what takes its rows; they are discarded by default
 */
export function onEngine(
  sql: string,
  { values = [], into }: { values?: string[]; into?: string } = {},
): string {
  return `execute ${engineSql(sql)}${into ? ` into ${into}` : ''}
    using ${['p_tenant', ...values].join(', ')}`;
}

/** The expression for such SQL. Only `format` puts the name into it, as an identifier. */
export function engineSql(sql: string): string {
  const text = sql.replaceAll('%', '%%').replaceAll('ENGINE.', '%1$I.');
  return `format(${escapeLiteral(text)}, p_engine)`;
}

// The engine calls randomUUID(). In upper case or another notation, two of its ids
// could be the same UUID.
export const UUID_PATTERN = `'^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`;

/** Error codes after which another attempt may succeed. */
const TRANSIENT = `sqlstate ~ '^(40|42|55)'`;

/** What a trigger does on a change of one of the engine's tables. */
interface Carrying {
  table: EngineTable;
  /** The id of the changed entity; null where it is unknown. */
  key: string;
  statements: string;
}

/**
 * Statements with three attempts. A lasting error becomes an adoption fault, or, where
 * that fails too, a warning in the server's log: the engine's write must not fail.
 */
export function attempted({ table, key, statements }: Carrying): string {
  return `for attempt in 1 .. 3 loop
    begin
      ${statements}
      exit;
    exception when others then
      if attempt = 3 or not ${TRANSIENT} then
        begin
          perform adoption_note(v_tenant, v_engine, '${table}', ${key}, sqlerrm, sqlstate);
        exception when others then
          raise warning 'catalog-tenancy: a change of ${table} is not carried: %', sqlerrm;
        end;
        exit;
      end if;
    end;
  end loop;`;
}

const PASSES = 100;

/**
 * Statements that repeat until `left` is false. Rows of concurrent transactions go within a
 * pass or two; rows that a foreign trigger keeps from being deleted must not block the
 * engine for ever.
 */
export function untilNothingIsLeft({
  statements,
  left,
}: {
  statements: string;
  /** A condition. */
  left: string;
}): string {
  return `for pass in 1 .. ${PASSES} loop
    ${statements}
    exit when not (${left});
    if pass = ${PASSES} then
      raise exception 'rows of the default tenant can''t be deleted';
    end if;
  end loop`;
}

/** Precedes statements that must see what other transactions have committed. */
export const CHECK_SNAPSHOT = `if current_setting('transaction_isolation') <> 'read committed' then
  perform adoption_check_snapshot();
end if;`;

/**
 * What a trigger function declares: the tenant is the argument of the trigger, and a trigger
 * without one is the default tenant's. So earlier versions made all of theirs.
 *
 * The schema is of the type `name`, whose collation is "C". As an argument it would give that
 * collation to all parameters of a function, and no index on a text would match them.
 */
export const TRIGGER_TENANT = `v_tenant uuid := coalesce(tg_argv[0], '${DEFAULT_TENANT_ID}');
  v_engine text collate "default" := tg_table_schema;`;

/**
 * The function that records an adoption fault, with the reason, and deletes our rows of
 * what it is about: the tenant shows no outdated data.
 *
 * It never fails, because the engine's write must not.
 */
export function createNote(target: Target): string {
  return `create or replace function adoption_note(
  ${ENGINE_PARAMETERS}, p_source text, p_key text, p_reason text, p_state text)
returns void language plpgsql ${functionSettings(target)} as $$
declare
  -- A row of its own for each session where no entity is known: those that wrote to the
  -- same one would wait for each other, and for what both have locked.
  v_key text := case when p_key is null or p_key = '*'
    then '${UNKNOWN_KEY} of process ' || pg_backend_pid() else p_key end;
begin
  begin
    if p_key ~ ${UUID_PATTERN} then
      if p_source = 'final_entities' then
        perform adoption_forget_entity(p_tenant, p_engine, p_key::uuid);
      elsif p_source = 'relations' then
        delete from relations
         where tenant_id = p_tenant and originating_entity_id = p_key::uuid;
      elsif p_source = 'refresh_state' then
        delete from refresh_state
         where tenant_id = p_tenant and entity_id = p_key::uuid;
      end if;
    end if;
  exception when others then
    raise warning 'catalog-tenancy: % % stays as it was: %', p_source, p_key, sqlerrm;
  end;
  insert into ${FAULTS} as f (tenant_id, source, key, reason, sqlstate)
  values (p_tenant, p_source, v_key, p_reason, p_state)
  on conflict (tenant_id, source, key) do update
    set reason = excluded.reason, sqlstate = excluded.sqlstate,
        last_seen_at = now(), attempts = f.attempts + 1;
exception when others then
  raise warning 'catalog-tenancy: % % is not carried: % (and that is not kept: %)',
    p_source, p_key, p_reason, sqlerrm;
end $$`;
}

/**
 * The function that fails with 40001 in a transaction whose snapshot is older than a swap
 * of our tables: rows would seem to be missing from the new ones.
 *
 * The lock waits for a swap that is under way; it leaves the partitions out, which may be
 * many. After it, `to_regclass` finds the present table, and the query of `pg_class` the
 * one of the snapshot.
 */
export function createCheckSnapshot(target: Target): string {
  return `create or replace function adoption_check_snapshot()
returns void language plpgsql ${functionSettings(target)} as $$
begin
  lock table only entities in access share mode;
  if to_regclass('entities') is distinct from (
       select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relname = 'entities' and n.nspname = ${escapeLiteral(
          target.schema,
        )}) then
    raise exception 'the transaction is older than the tables'
      using errcode = 'serialization_failure';
  end if;
end $$`;
}

/** The function that converts text to `jsonb`, or returns null where it is not JSON. */
export function createJson(): string {
  return `create or replace function adoption_json(p_text text)
returns jsonb language plpgsql immutable as $$
begin
  return p_text::jsonb;
exception when others then
  return null;
end $$`;
}

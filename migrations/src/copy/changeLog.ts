import type { Creation } from '../engine/Step';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { ENTITY_KEY, TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';

/** The names of a change log and of its objects. */
export interface ChangeLog {
  table: string;
  /** The beginning of its triggers' names. */
  trigger: string;
  /** The beginning of its trigger functions' names. */
  functions: string;
  /** The function that replays it. */
  replay: string;
}

/** The log of the default tenant, for the swap of phase 5 and its way back. */
export const MIGRATION_LOG: ChangeLog = {
  table: 'tenancy_change_log',
  trigger: 'tenancy_change_log',
  functions: 'tenancy_log',
  replay: 'tenancy_replay_changes',
};

export const CHANGE_LOG = MIGRATION_LOG.table;

/** The beginning of the migration's trigger names. */
export const LOG_TRIGGER = MIGRATION_LOG.trigger;

/** The name of the function that logs a table's changes. */
export function logFunction(table: TenantTable, log = MIGRATION_LOG): string {
  return `${log.functions}_${table}`;
}

/**
 * The statements that create the change log. It holds which entities of which table have
 * changed, not how: the replay reads their current rows.
 *
 * A trigger that wrote rows to the copy would miss the one that a REPEATABLE READ
 * transaction deletes if its snapshot is older than the copy. No column but the generated
 * id is unique, so writers never wait for each other.
 */
export function createChangeLog(
  schema: string,
  tenantId: string,
  log = MIGRATION_LOG,
): string[] {
  return [
    `create table if not exists ${log.table} (
  id bigint generated always as identity primary key,
  table_name text not null,
  key uuid
)`,
    `comment on table ${log.table} is 'Entities whose rows have changed since they were copied; a key that is null stands for all'`,
    ...TENANT_TABLES.map(table =>
      createLogFunction({ schema, table, log, tenantId }),
    ),
  ];
}

// SECURITY DEFINER: the application needs no right to the log. It logs one tenant's
// changes, because only its rows are copied.
function createLogFunction(options: {
  schema: string;
  table: TenantTable;
  log: ChangeLog;
  tenantId: string;
}): string {
  const { schema, table, log } = options;
  const key = ENTITY_KEY[table];
  const tenant = `${escapeLiteral(options.tenantId)}::uuid`;
  const insert = (row: string) =>
    `insert into ${escapeIdentifier(schema)}.${
      log.table
    } (table_name, key) values ('${table}', ${row});`;
  return `create or replace function ${logFunction(
    table,
    log,
  )}() returns trigger language plpgsql
  security definer set search_path = pg_catalog, ${escapeIdentifier(
    schema,
  )}, pg_temp as $$
begin
  if tg_op = 'TRUNCATE' then
    ${insert('null')}
    return null;
  end if;
  if tg_op <> 'INSERT' and old.tenant_id = ${tenant} then
    ${insert(`old.${key}`)}
  end if;
  if tg_op <> 'DELETE' and new.tenant_id = ${tenant}
     and (tg_op = 'INSERT' or new.${key} <> old.${key}
          or new.tenant_id <> old.tenant_id) then
    ${insert(`new.${key}`)}
  end if;
  return null;
end $$`;
}

/**
 * The statements that make a table log its changes.
 *
 * CREATE TRIGGER takes SHARE ROW EXCLUSIVE, which waits for the transactions that have
 * written to the table: every change is either committed before it, or logged.
 *
 * @param table - the table by its production name
 * @param name - its name at this moment
 */
export function createLogTriggers(
  table: TenantTable,
  name: string,
  log = MIGRATION_LOG,
): string[] {
  const call = `execute function ${logFunction(table, log)}()`;
  return [
    `create or replace trigger ${log.trigger} after insert or update or delete on ${name}
  for each row ${call}`,
    `create or replace trigger ${log.trigger}_truncate after truncate on ${name}
  for each statement ${call}`,
    // Also for writes of a subscription, and with session_replication_role = replica.
    `alter table ${name} enable always trigger ${log.trigger}`,
    `alter table ${name} enable always trigger ${log.trigger}_truncate`,
  ];
}

/** The triggers of the migration's log. */
export const logTriggers = TENANT_TABLES.flatMap(table =>
  ['', '_truncate'].map(
    (suffix): Creation => ({
      kind: 'trigger',
      name: `${LOG_TRIGGER}${suffix}`,
      table,
    }),
  ),
);

/** The statements that drop the triggers. */
export function dropLogTriggers(name: string, log = MIGRATION_LOG): string[] {
  return [
    `drop trigger if exists ${log.trigger} on ${name}`,
    `drop trigger if exists ${log.trigger}_truncate on ${name}`,
  ];
}

/** The statements that drop the log, whose triggers must be gone. */
export function dropChangeLog(log = MIGRATION_LOG): string[] {
  return [
    ...TENANT_TABLES.map(
      table => `drop function if exists ${logFunction(table, log)}()`,
    ),
    `drop table if exists ${log.table}`,
  ];
}

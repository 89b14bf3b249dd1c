import type { Creation } from '../engine/Step';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { ENTITY_KEY, TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';

/** A log of one tenant's changes, and what belongs to it. */
export interface ChangeLog {
  table: string;
  /** The names of its triggers begin with it. */
  trigger: string;
  /** The names of the functions that its triggers call begin with it. */
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

/** The triggers of ours: their names begin with it. */
export const LOG_TRIGGER = MIGRATION_LOG.trigger;

/** The name of the function that logs a table's changes. */
export function logFunction(table: TenantTable, log = MIGRATION_LOG): string {
  return `${log.functions}_${table}`;
}

/**
 * The statements that create the change log: which entities of which table have
 * changed, not how. Replaying it reads the rows as they are by then.
 *
 * A trigger that wrote the changes through to the copy would lose a row that a
 * REPEATABLE READ transaction deletes, where its snapshot does not show the copy.
 * Nothing in the log is unique, so that no writer ever waits for another one.
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

// SECURITY DEFINER: the application needs no right to the log. Only one tenant's
// changes count, because only its rows have another side.
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
 * CREATE TRIGGER takes SHARE ROW EXCLUSIVE, which waits for all who have written
 * to the table: every change is either committed before it, or logged.
 *
 * @param table - whose changes they are
 * @param name - how the table is called at this moment
 */
export function createLogTriggers(
  table: TenantTable,
  name: string,
  log = MIGRATION_LOG,
): string[] {
  const call = `execute function ${logFunction(table, log)}()`;
  return [
    ...dropLogTriggers(name, log),
    `create trigger ${log.trigger} after insert or update or delete on ${name}
  for each row ${call}`,
    `create trigger ${log.trigger}_truncate after truncate on ${name}
  for each statement ${call}`,
    // Also for what a subscription writes, or a session that plays a replica.
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

/** The statements that end it. */
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

import type { Executor } from '../engine/Executor';
import { escapeIdentifier } from '../sql';
import { DEFAULT_TENANT_ID, ENTITY_KEY, TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';

/** The log of the default tenant, for the swap of phase 5 and its way back. */
export const CHANGE_LOG = 'tenancy_change_log';

/** The beginning of the migration's trigger names. */
export const LOG_TRIGGER = 'tenancy_change_log';

/** The name of the function that logs a table's changes. */
export function logFunction(table: TenantTable): string {
  return `tenancy_log_${table}`;
}

/**
 * The statements that create the change log. It holds which entities of which table have
 * changed, not how: the replay reads their current rows.
 *
 * A trigger that wrote rows to the copy would miss the one that a REPEATABLE READ
 * transaction deletes if its snapshot is older than the copy. No column but the generated
 * id is unique, so writers never wait for each other.
 */
export function createChangeLog(schema: string): string[] {
  return [
    `create table if not exists ${CHANGE_LOG} (
  id bigint generated always as identity primary key,
  table_name text not null,
  key uuid
)`,
    `comment on table ${CHANGE_LOG} is 'Entities whose rows have changed since they were copied; a key that is null stands for all'`,
    ...TENANT_TABLES.map(table => createLogFunction(schema, table)),
  ];
}

// SECURITY DEFINER: the application needs no right to the log. It logs one tenant's
// changes, because only its rows are copied.
function createLogFunction(schema: string, table: TenantTable): string {
  const key = ENTITY_KEY[table];
  const tenant = `'${DEFAULT_TENANT_ID}'::uuid`;
  const insert = (row: string) =>
    `insert into ${escapeIdentifier(
      schema,
    )}.${CHANGE_LOG} (table_name, key) values ('${table}', ${row});`;
  return `create or replace function ${logFunction(
    table,
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
 */
export function createLogTriggers(table: TenantTable): string[] {
  return [...triggersOn(table, table), enableLogTriggers(table)];
}

/**
 * The statements that prepare {@link enableLogTriggers} on a table that is not in use.
 *
 * @param table - the table by its production name
 * @param name - its name at this moment
 */
export function createDisabledLogTriggers(
  table: TenantTable,
  name: string,
): string[] {
  return [
    ...triggersOn(table, name),
    `alter table ${name} disable trigger ${LOG_TRIGGER},
  disable trigger ${LOG_TRIGGER}_truncate`,
  ];
}

/** The statement that has the triggers fire: ACCESS EXCLUSIVE, as that which creates them. */
export function enableLogTriggers(name: string): string {
  // Also for writes of a subscription, and with session_replication_role = replica.
  return `alter table ${name} enable always trigger ${LOG_TRIGGER},
  enable always trigger ${LOG_TRIGGER}_truncate`;
}

function triggersOn(table: TenantTable, name: string): string[] {
  const call = `execute function ${logFunction(table)}()`;
  return [
    `create or replace trigger ${LOG_TRIGGER} after insert or update or delete on ${name}
  for each row ${call}`,
    `create or replace trigger ${LOG_TRIGGER}_truncate after truncate on ${name}
  for each statement ${call}`,
  ];
}

/** Whether a table logs its changes: a cleanup that has begun drops the triggers. */
export async function isLogged(
  { read }: Pick<Executor, 'read'>,
  table: TenantTable,
): Promise<boolean> {
  const found = await read(
    `select from pg_trigger where tgrelid = to_regclass($1) and tgname = $2`,
    [table, LOG_TRIGGER],
  );
  return found.length > 0;
}

/** The statements that drop the triggers. */
export function dropLogTriggers(name: string): string[] {
  return [
    `drop trigger if exists ${LOG_TRIGGER} on ${name}`,
    `drop trigger if exists ${LOG_TRIGGER}_truncate on ${name}`,
  ];
}

/** The statements that drop the log, whose triggers must be gone. */
export function dropChangeLog(): string[] {
  return [
    ...TENANT_TABLES.map(
      table => `drop function if exists ${logFunction(table)}()`,
    ),
    `drop table if exists ${CHANGE_LOG}`,
  ];
}

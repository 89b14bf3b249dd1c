import { escapeIdentifier, escapeLiteral } from '../schema/sql';
import { ENTITY_KEY, TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';

export const CHANGE_LOG = 'tenancy_change_log';

/** The triggers of ours: their names begin with it. */
export const LOG_TRIGGER = 'tenancy_change_log';

/** The name of the function that logs a table's changes. */
export function logFunction(table: TenantTable): string {
  return `tenancy_log_${table}`;
}

/**
 * The statements that create the change log: which entities of which table have
 * changed, not how. Replaying it reads the rows as they are by then.
 *
 * A trigger that wrote the changes through to the copy would lose a row that a
 * REPEATABLE READ transaction deletes, where its snapshot does not show the copy.
 * Nothing in the log is unique, so that no writer ever waits for another one.
 */
export function createChangeLog(schema: string, tenantId: string): string[] {
  const log = `${escapeIdentifier(schema)}.${CHANGE_LOG}`;
  return [
    `create table if not exists ${CHANGE_LOG} (
  id bigint generated always as identity primary key,
  table_name text not null,
  key uuid
)`,
    `comment on table ${CHANGE_LOG} is 'Entities whose rows have changed since they were copied; a key that is null stands for all'`,
    ...TENANT_TABLES.map(table =>
      createLogFunction({ schema, table, log, tenantId }),
    ),
  ];
}

// SECURITY DEFINER: the application needs no right to the log. Only the default
// tenant's changes count, because only its rows have another side.
function createLogFunction(options: {
  schema: string;
  table: TenantTable;
  log: string;
  tenantId: string;
}): string {
  const { schema, table, log } = options;
  const key = ENTITY_KEY[table];
  const tenant = `${escapeLiteral(options.tenantId)}::uuid`;
  const insert = (row: string) =>
    `insert into ${log} (table_name, key) values ('${table}', ${row});`;
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
 * CREATE TRIGGER takes SHARE ROW EXCLUSIVE, which waits for all who have written
 * to the table: every change is either committed before it, or logged.
 *
 * @param table - whose changes they are
 * @param name - how the table is called at this moment
 */
export function createLogTriggers(table: TenantTable, name: string): string[] {
  const call = `execute function ${logFunction(table)}()`;
  return [
    ...dropLogTriggers(name),
    `create trigger ${LOG_TRIGGER} after insert or update or delete on ${name}
  for each row ${call}`,
    `create trigger ${LOG_TRIGGER}_truncate after truncate on ${name}
  for each statement ${call}`,
  ];
}

/** The statements that end it. */
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

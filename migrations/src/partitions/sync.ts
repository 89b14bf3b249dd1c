import { insertInto, ofTenant, writtenColumns } from '../copy/TableCopy';
import type { TableCopy } from '../copy/TableCopy';
import { logFunction } from '../copy/changeLog';
import { revokeAllStatement } from '../schema/grants';
import { ADMIN_ROLE } from '../roles';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { ENTITY_KEY, TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import { PARTITION_LOG } from './names';

// Triggers keep the copies of a move equal to their sources. The trigger of each source
// calls one function for each table, of which there are three versions in turn:
//
// - `log` records which entities change while the copies are made;
// - `mirror` makes every change of a row in its copy too, in the same transaction, so
//   that every later snapshot shows the same rows on both sides;
// - `off` does nothing.
//
// CREATE OR REPLACE FUNCTION switches between them and locks no table.

const { table: LOG, replay: REPLAY } = PARTITION_LOG;

/** Stands for the id of the switching transaction in {@link mirrorFunction}. */
const XID = 'tenancy_synchronized_by';

/** The statements that create the log and the function that replays it. */
export function createLog(copies: TableCopy[], schema: string): string[] {
  return [
    `create table if not exists ${LOG} (
  id bigint generated always as identity primary key,
  table_name text not null,
  tenant_id uuid,
  key uuid
)`,
    `comment on table ${LOG} is 'Entities whose rows have changed since they were copied to another partition; a key that is null stands for all'`,
    `alter table ${LOG} owner to ${ADMIN_ROLE}`,
    // Default privileges may have granted some.
    revokeAllStatement(LOG),
    createReplay(copies),
    ...TENANT_TABLES.flatMap(table => [
      logsChanges(schema, table),
      `alter function ${logFunction(
        table,
        PARTITION_LOG,
      )}() owner to ${ADMIN_ROLE}`,
    ]),
  ];
}

/** The statements that drop both, once no function of a trigger writes to the log. */
export const dropLog = [
  `drop function if exists ${REPLAY}()`,
  `drop table if exists ${LOG}`,
];

/** The statements that drop the functions, once there are no triggers. */
export const dropTriggerFunctions = TENANT_TABLES.map(
  table => `drop function if exists ${logFunction(table, PARTITION_LOG)}()`,
);

/** The statements that replace the trigger functions by ones that do nothing. */
export function switchOff(schema: string): string[] {
  return TENANT_TABLES.map(table =>
    triggerFunction({ schema, table, body: 'begin\n  return null;\nend' }),
  );
}

/**
 * The statement that has the triggers change the copies too. It must run while no other
 * session can write to the sources and after a replay: from this transaction on, every
 * snapshot has to show both sides equal.
 */
export function switchToMirror(
  schema: string,
  copies: TableCopy[],
  uniqueColumns: UniqueColumns,
): string {
  const functions = TENANT_TABLES.map(table =>
    mirrorFunction(
      schema,
      copies.filter(copy => copy.table === table),
      uniqueColumns[table],
    ),
  );
  return `do $mirror$ begin
${functions
  .map(
    text =>
      `  execute replace(${escapeLiteral(
        text,
      )}, '${XID}', pg_current_xact_id()::text);`,
  )
  .join('\n')}
end $mirror$`;
}

/** Columns on which unique indexes of a table depend. */
export type UniqueColumns = Record<
  TenantTable,
  { columns: string[]; deferrable: boolean }
>;

/** The settings of a function that runs once for each row written. */
const settingsOf = (schema: string) =>
  `set search_path = pg_catalog, ${escapeIdentifier(schema)}, pg_temp`;

// One generic plan per session saves planning for each row. Without sequential scans,
// because a plan made while a table was small would scan it when it is large.
const PLANS = `
  set row_security = on
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set jit = off`;

// SECURITY DEFINER: the application has no right to the log, or to the copies.
function triggerFunction(options: {
  schema: string;
  table: TenantTable;
  body: string;
  settings?: string;
}): string {
  const { schema, table, body, settings = '' } = options;
  return `create or replace function ${logFunction(
    table,
    PARTITION_LOG,
  )}() returns trigger language plpgsql
  security definer ${settingsOf(schema)}${settings} as $body$
${body} $body$`;
}

/**
 * Logs keys, not rows: a trigger that wrote rows to the copy would miss the one that a
 * REPEATABLE READ transaction deletes if its snapshot is older than the copy.
 */
function logsChanges(schema: string, table: TenantTable): string {
  return triggerFunction({
    schema,
    table,
    body: `begin
  if tg_op = 'TRUNCATE' then
    ${logAll(table)};
    return null;
  end if;
  if tg_op <> 'INSERT' then
    ${logRow(table, 'old')};
  end if;
  if tg_op <> 'DELETE' and (tg_op = 'INSERT' or ${identity(
    table,
    'new',
  )} <> ${identity(table, 'old')}) then
    ${logRow(table, 'new')};
  end if;
  return null;
end`,
  });
}

/**
 * The function that makes each change in the copy as well. It never fails a transaction
 * with a current snapshot: a change that the copy cannot take goes into the log, and the
 * command replays it before the exchange.
 *
 * A transaction whose snapshot is older than the switch does not see the rows of the
 * copies, and so cannot change them. It fails with 40001 (serialization_failure), as
 * after a concurrent update.
 */
function mirrorFunction(
  schema: string,
  copies: TableCopy[],
  unique: UniqueColumns[TenantTable],
): string {
  const [{ table }] = copies;
  const sides = [...new Set(copies.map(copy => copy.target))].map(
    target => copies.find(copy => copy.target === target)!,
  );
  return triggerFunction({
    schema,
    table,
    settings: PLANS,
    body: `#variable_conflict use_column
declare
  tenancy_place tid;
  tenancy_rows bigint;
begin
  if not pg_visible_in_snapshot('${XID}'::xid8, pg_current_snapshot()) then
    raise exception 'could not serialize access due to a concurrent move of the rows to another partition'
      using errcode = 'serialization_failure', hint = 'Retry the transaction.';
  end if;
  if tg_op = 'TRUNCATE' then
${indent(truncated(copies), 4)}
    return null;
  end if;
  if tg_op = 'UPDATE' and ${sameSide(sides)} then
${indent(
  bySide(sides, 'new', copy => updateRow(copy, unique)),
  4,
)}
    return null;
  end if;
  if tg_op <> 'INSERT' then
${indent(bySide(sides, 'old', deleteRow), 4)}
  end if;
  if tg_op <> 'DELETE' then
${indent(
  bySide(sides, 'new', copy => insertRow(copy, unique)),
  4,
)}
  end if;
  return null;
end`,
  });
}

/** A TRUNCATE names one source, whose rows may belong to two copies. */
function truncated(copies: TableCopy[]): string {
  return copies
    .map(
      copy =>
        `if tg_relid = ${escapeLiteral(
          escapeIdentifier(copy.source),
        )}::regclass then\n  delete from ${escapeIdentifier(
          copy.target,
        )} where ${ofTenant(copy)};\nend if;`,
    )
    .join('\n');
}

function sameSide([own, ...others]: TableCopy[]): string {
  return others.length === 0
    ? 'true'
    : `(${ofTenant(own, 'old')}) = (${ofTenant(own, 'new')})`;
}

/** Chooses the copy that a row belongs to. */
function bySide(
  sides: TableCopy[],
  row: 'old' | 'new',
  work: (copy: TableCopy) => string,
): string {
  if (sides.length === 1) {
    return work(sides[0]);
  }
  const [own, shared] = sides;
  return `if ${ofTenant(own, row)} then
${indent(work(own), 2)}
else
${indent(work(shared), 2)}
end if;`;
}

function insertRow(
  copy: TableCopy,
  unique: UniqueColumns[TenantTable],
): string {
  const insert = `${insertInto(copy)}
values (${values(copy, 'new')})`;
  // ON CONFLICT does not accept a deferrable constraint: its violation is caught.
  return unique.deferrable
    ? unlessTaken(insert, copy)
    : `${insert}
    on conflict do nothing;
get diagnostics tenancy_rows = row_count;
if tenancy_rows = 0 then
  ${logRow(copy.table, 'new')};
end if;`;
}

function deleteRow(copy: TableCopy): string {
  return onRow(
    copy,
    place => `delete from ${escapeIdentifier(copy.target)} t where ${place};`,
  );
}

function updateRow(
  copy: TableCopy,
  unique: UniqueColumns[TenantTable],
): string {
  const update = (place: string) =>
    `update ${escapeIdentifier(copy.target)} t
   set (${writtenColumns(copy).join(', ')}) = row(${values(copy, 'new')})
 where ${place}`;
  const taken = unique.columns.filter(column =>
    writtenColumns(copy).includes(escapeIdentifier(column)),
  );
  if (taken.length === 0) {
    return onRow(copy, place => `${update(place)};`);
  }
  const list = (row: string) =>
    taken.map(column => `${row}.${escapeIdentifier(column)}`).join(', ');
  // Rows that swap unique values may reach the copy in another order, if a user's trigger
  // changes one of them in between. A conflict is logged.
  return onRow(
    copy,
    place => `if row(${list('old')}) is not distinct from row(${list(
      'new',
    )}) then
  ${update(place)};
else
${indent(unlessTaken(update(place), copy), 2)}
end if;`,
  );
}

/**
 * Finds the old row in a copy. Entities have a key. The other tables may have none, and
 * several equal rows: then it takes any that no other transaction has locked.
 */
function onRow(copy: TableCopy, work: (place: string) => string): string {
  const { table, key, target } = copy;
  const missing = `${logRow(
    table,
    'old',
  )};\n  if tg_op = 'UPDATE' then ${logRow(table, 'new')}; end if;`;
  if (table === 'entities') {
    return `${work(
      't.tenant_id = old.tenant_id and t.entity_id = old.entity_id',
    )}
get diagnostics tenancy_rows = row_count;
if tenancy_rows = 0 then
  ${missing}
end if;`;
  }
  return `select t.ctid into tenancy_place from ${escapeIdentifier(target)} t
 where t.tenant_id = old.tenant_id and t.${key} = old.${key}
   and row(${values(copy, 't')})::record operator(pg_catalog.*=) row(${values(
    copy,
    'old',
  )})::record
 limit 1 for update skip locked;
if tenancy_place is null then
  ${missing}
else
${indent(work('t.ctid = tenancy_place'), 2)}
end if;`;
}

/** A conflict ends a subtransaction only: the writer goes on, and the row is logged. */
function unlessTaken(statement: string, { table }: TableCopy): string {
  return `begin
  ${statement};
exception when unique_violation or exclusion_violation then
  ${logRow(table, 'new')};
  if tg_op = 'UPDATE' then ${logRow(table, 'old')}; end if;
end;`;
}

function values(copy: TableCopy, row: string): string {
  return writtenColumns(copy)
    .map(column => `${row}.${column}`)
    .join(', ');
}

function logRow(table: TenantTable, row: 'old' | 'new'): string {
  return `insert into ${LOG} (table_name, tenant_id, key) values ('${table}', ${row}.tenant_id, ${row}.${ENTITY_KEY[table]})`;
}

function logAll(table: TenantTable): string {
  return `insert into ${LOG} (table_name) values ('${table}')`;
}

function identity(table: TenantTable, row: 'old' | 'new'): string {
  return `(${row}.tenant_id, ${row}.${ENTITY_KEY[table]})`;
}

/**
 * The function that makes the copies equal to their sources for all keys in the log,
 * deletes these from the log, and returns how many entries it had.
 *
 * It must run in a REPEATABLE READ transaction, or while no other session can write to the
 * sources: one snapshot then shows the log and the rows, and a later commit is in the log
 * of the next call. No foreign key references the copies, so it deletes all rows of the
 * keys before it inserts any, and unique values cannot conflict.
 */
function createReplay(copies: TableCopy[]): string {
  const all = (table: TenantTable) => `tenancy_${table}_all`;
  const tenants = (table: TenantTable) => `tenancy_${table}_tenants`;
  const keys = (table: TenantTable) => `tenancy_${table}_keys`;
  const replay = (copy: TableCopy) => {
    const { table, key } = copy;
    const [source, target] = [copy.source, copy.target].map(escapeIdentifier);
    const columns = writtenColumns(copy);
    const of = (side: string) =>
      `${side}.tenant_id = k.tenant_id and ${side}.${key} = k.key and ${ofTenant(
        copy,
        side,
      )}`;
    const entries = `unnest(${tenants(table)}, ${keys(
      table,
    )}) k (tenant_id, key)`;
    return `if ${all(table)} then
  delete from ${target} t where ${ofTenant(copy, 't')};
  ${insertInto(copy)}
  select ${columns.map(column => `s.${column}`).join(', ')}
    from ${source} s where ${ofTenant(copy, 's')};
else
  delete from ${target} t using ${entries} where ${of('t')};
  ${insertInto(copy)}
  select ${columns.map(column => `s.${column}`).join(', ')}
    from ${entries} join ${source} s on ${of('s')};
end if;`;
  };
  const filter = (table: TenantTable) =>
    `filter (where table_name = '${table}' and key is not null)`;
  // Index scans only: few of many keys change, and the copies may lack statistics.
  return `create or replace function ${REPLAY}() returns bigint language plpgsql
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $body$
declare
  tenancy_entries bigint;
${TENANT_TABLES.map(
  table =>
    `  ${all(table)} boolean;\n  ${tenants(table)} uuid[];\n  ${keys(
      table,
    )} uuid[];`,
).join('\n')}
begin
  with entry as (
    delete from ${LOG} returning table_name, tenant_id, key
  ), pair as (
    select distinct table_name, tenant_id, key from entry
  )
  select (select count(*) from entry)${TENANT_TABLES.map(
    table => `,
         coalesce(bool_or(key is null) filter (where table_name = '${table}'), false),
         array_agg(tenant_id) ${filter(table)},
         array_agg(key) ${filter(table)}`,
  ).join('')}
    into tenancy_entries${TENANT_TABLES.map(
      table => `, ${all(table)}, ${tenants(table)}, ${keys(table)}`,
    ).join('')}
    from pair;
  if tenancy_entries > 0 then
${copies.map(copy => indent(replay(copy), 4)).join('\n')}
  end if;
  return tenancy_entries;
end $body$`;
}

function indent(text: string, spaces: number): string {
  return text.replace(/^(?=.)/gm, ' '.repeat(spaces));
}

import { values } from '../checks/Rule';
import { INDEX_BODY } from '../checks/shape';
import type { StepContext } from '../engine/Step';
import { comparable, LAYOUT } from '../layout';
import { operatorCommand } from '../operatorCommand';
import { PRODUCT_MIGRATIONS } from '../productTables/migrations';
import { isSharded } from '../schema/partitions';
import { TENANT_LIMITS, TENANT_TABLES } from '../schema/tables';

const COLUMNS = values([
  ...Object.keys(TENANT_LIMITS).map(name => [
    'tenants',
    name,
    'integer',
    false,
    `: run "${operatorCommand('upgrade')}"`,
  ]),
  ...TENANT_TABLES.flatMap(table => [
    [table, 'tenant_id', 'uuid', true, ''],
    ...Object.entries(LAYOUT[table].columns).map(
      ([name, { type, required = false }]) => [table, name, type, required, ''],
    ),
  ]),
]);

const INDEXES = values(
  TENANT_TABLES.flatMap(table =>
    LAYOUT[table].indexes
      .filter(({ optional }) => !optional)
      .map(({ on }) => [table, on]),
  ),
);

const CONSTRAINTS = values(
  TENANT_TABLES.flatMap(table => {
    const { checks, foreignKeys, indexes } = LAYOUT[table];
    return [
      ...foreignKeys.map(({ definition }) => definition),
      ...indexes
        .filter(({ constraint, optional }) => constraint && !optional)
        .map(
          ({ on, constraint = '' }) =>
            `${constraint.toUpperCase()} ${on.replace('btree ', '')}`,
        ),
      ...checks,
    ].map(definition => [table, definition]);
  }),
);

const PRODUCT_CONSTRAINTS = values(
  PRODUCT_MIGRATIONS.flatMap(({ sql }) => namedConstraints(sql)),
);

/** The constraints that statements name, with their tables. */
function namedConstraints(sql: string): [table: string, name: string][] {
  let table = '';
  return [
    ...sql.matchAll(/(?:create|alter) table (\w+)|(?<!drop )constraint (\w+)/g),
  ].flatMap(([, nextTable, name]): [string, string][] => {
    table = nextTable ?? table;
    return name ? [[table, name]] : [];
  });
}

// Who may read the tables, and whether they are there, is in the checks of isolation. `$1` is
// whether Citus has distributed them: it lets distributed tables alone reference the registry,
// and has shards in place of partitions.
const PROBLEMS = `
select format('%s has no column %s of type %s, %s%s.', e.tbl, e.name, e.type,
              case when e.required then 'not null' else 'nullable' end, e.remedy) as problem
  from ${COLUMNS} e (tbl, name, type, required, remedy)
 where not exists (
   select from pg_attribute a
    where a.attrelid = to_regclass(e.tbl) and a.attname = e.name and not a.attisdropped
      and a.attnotnull = e.required
      and (format_type(a.atttypid, a.atttypmod) = e.type
        or e.type = 'text' and a.atttypid = 'varchar'::regtype))
 union all
select format('%s has no valid index %s.', e.tbl, e.body)
  from ${INDEXES} e (tbl, body)
 where not exists (select from pg_index i
                    where i.indrelid = to_regclass(e.tbl) and i.indrelid = any ($2::regclass[])
                      and i.indisvalid and ${INDEX_BODY} = e.body)
 union all
select format('%s has no valid constraint %s.', e.tbl, e.definition)
  from ${CONSTRAINTS} e (tbl, definition)
 where not exists (
   select from pg_constraint k
    where k.conrelid = to_regclass(e.tbl) and k.conrelid = any ($2::regclass[]) and k.convalidated
      and ${comparable('pg_get_constraintdef(k.oid)')} = ${comparable(
  'e.definition',
)})
 union all
select format('%s has no valid constraint %s.', e.tbl, e.name)
  from ${PRODUCT_CONSTRAINTS} e (tbl, name)
 where not exists (select from pg_constraint k
                    where k.conrelid = to_regclass(e.tbl) and k.conname = e.name and k.convalidated)
   and not ($1 and e.name = e.tbl || '_tenant_id_fkey')
 union all
-- A REINDEX CONCURRENTLY that failed leaves one with such a name behind, beside the valid one.
select format('The index %s is invalid: run "%s index concurrently %I.%I".', x.oid::regclass,
              case when x.relname ~ '_cc(new|old)[0-9]*$' then 'drop' else 'reindex' end, n.nspname, x.relname)
  from pg_class p, pg_partition_tree(p.oid) t
  join pg_index i on i.indrelid = t.relid
  join pg_class x on x.oid = i.indexrelid
  join pg_namespace n on n.oid = x.relnamespace
 where p.oid = any ($2::regclass[]) and p.relkind = 'p' and not i.indisvalid
 union all
select format('%s is not partitioned by list of tenant_id.', c.relname) from pg_class c
 where not $1 and c.oid = any ($2::regclass[])
   and pg_get_partkeydef(c.oid) is distinct from 'LIST (tenant_id)'
 union all
select format('%s has no partition for tenants without one of their own.', c.relname) from pg_class c
 where not $1 and c.oid = any ($2::regclass[])
   and not exists (select from pg_partitioned_table where partrelid = c.oid and partdefid <> 0)`;

/** What of the tables is not as the specification has them (B.2 and B.3). */
export async function examineLayout({
  executor,
}: StepContext): Promise<string[]> {
  const rows = await executor.read<{ problem: string }>(PROBLEMS, [
    await isSharded(executor),
    [...TENANT_TABLES],
  ]);
  return rows.map(({ problem }) => problem);
}

import { values } from '../checks/Rule';
import { INDEX_BODY } from '../checks/shape';
import type { StepContext } from '../engine/Step';
import { comparable, LAYOUT } from '../layout';
import { operatorCommand } from '../operatorCommand';
import { isSharded } from '../schema/partitions';
import {
  ENGINE_STATUS_TABLE,
  ENGINES_TABLE,
  LEASES_TABLE,
  MEMBERS_TABLE,
  PROCESSES_TABLE,
  TENANT_LIMITS,
  TENANT_TABLES,
} from '../schema/tables';

// As pg_get_constraintdef puts it.
const TENANT_KEY =
  'FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id) ON DELETE CASCADE';

/** Of the registry, and of the tables beside it. */
const REGISTRY_CONSTRAINTS: Record<string, string[]> = {
  tenants: Object.entries(TENANT_LIMITS).map(
    ([column, most]) => `CHECK (((${column} >= 1) AND (${column} <= ${most})))`,
  ),
  [MEMBERS_TABLE]: [
    'PRIMARY KEY (tenant_id, principal)',
    TENANT_KEY,
    "CHECK ((role = ANY (ARRAY['viewer'::text, 'member'::text, 'admin'::text])))",
  ],
  tenant_sign_in: [
    'PRIMARY KEY (tenant_id)',
    TENANT_KEY,
    "CHECK ((jsonb_typeof(provider) = 'object'::text))",
  ],
  tenant_invitations: [
    'PRIMARY KEY (invitation_id)',
    TENANT_KEY,
    "CHECK ((role = ANY (ARRAY['viewer'::text, 'member'::text, 'admin'::text])))",
  ],
  [ENGINES_TABLE]: [
    'PRIMARY KEY (tenant_id)',
    TENANT_KEY,
    "CHECK ((jsonb_typeof(catalog_config) = 'object'::text))",
  ],
  [PROCESSES_TABLE]: ['PRIMARY KEY (process_id)'],
  [LEASES_TABLE]: [
    'PRIMARY KEY (tenant_id)',
    TENANT_KEY,
    'FOREIGN KEY (process_id) REFERENCES engine_processes(process_id) ON DELETE CASCADE',
  ],
  [ENGINE_STATUS_TABLE]: ['PRIMARY KEY (tenant_id)', TENANT_KEY],
  tenant_usage: ['PRIMARY KEY (tenant_id, day)', TENANT_KEY],
  tenant_audit: ['PRIMARY KEY (tenant_id, event_id)', TENANT_KEY],
};

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

const CONSTRAINTS = values([
  ...TENANT_TABLES.flatMap(table => {
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
  ...Object.entries(REGISTRY_CONSTRAINTS).flatMap(([table, definitions]) =>
    definitions.map(definition => [table, definition]),
  ),
]);

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
                    where i.indrelid = to_regclass(e.tbl) and i.indisvalid and ${INDEX_BODY} = e.body)
 union all
select format('%s has no valid constraint %s.', e.tbl, e.definition)
  from ${CONSTRAINTS} e (tbl, definition)
 where not exists (
   select from pg_constraint k
    where k.conrelid = to_regclass(e.tbl) and k.convalidated
      and ${comparable('pg_get_constraintdef(k.oid)')} = ${comparable(
  'e.definition',
)})
   and not ($1 and e.definition = '${TENANT_KEY}'
              and e.tbl in (${Object.keys(REGISTRY_CONSTRAINTS)
                .map(table => `'${table}'`)
                .join(', ')}))
 union all
select format('The index %s is invalid.', i.indexrelid::regclass)
  from pg_class p, pg_partition_tree(p.oid) t
  join pg_index i on i.indrelid = t.relid
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

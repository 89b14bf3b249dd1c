import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { operatorCommand } from '../operatorCommand';
import { comparable, isOfType, LAYOUT } from '../layout';
import type { LayoutColumn } from '../layout';
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
import type { TenantTable } from '../schema/tables';

const TENANT_COLUMN: Record<string, LayoutColumn> = {
  tenant_id: { type: 'uuid', required: true },
};

// As pg_get_constraintdef puts it.
const TENANT_KEY =
  'FOREIGN KEY (tenant_id) REFERENCES tenants(tenant_id) ON DELETE CASCADE';

/** Of the tables beside the registry. */
const REGISTRY_CONSTRAINTS: Record<string, string[]> = {
  [MEMBERS_TABLE]: [
    'PRIMARY KEY (tenant_id, principal)',
    TENANT_KEY,
    "CHECK ((role = ANY (ARRAY['viewer'::text, 'member'::text, 'admin'::text])))",
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
};

/** What of the tables is not as the specification has them (B.2 and B.3). */
export async function examineLayout({
  executor,
}: StepContext): Promise<string[]> {
  const problems = [
    ...(await missingLimits(executor)),
    ...(await unfinished(executor)),
  ];
  for (const table of TENANT_TABLES) {
    problems.push(...(await missingColumns(executor, table)));
    problems.push(...(await missingIndexes(executor, table)));
    problems.push(...(await missingConstraints(executor, table)));
    problems.push(...(await wrongPartitioning(executor, table)));
  }
  for (const table of Object.keys(REGISTRY_CONSTRAINTS)) {
    problems.push(...(await wrongRegistryTable(executor, table)));
  }
  return problems;
}

/** That the table is there, and who may read it, is in the check of isolation. */
async function wrongRegistryTable(
  executor: Executor,
  table: string,
): Promise<string[]> {
  const rows = await executor.read<{ definition: string }>(
    `select pg_get_constraintdef(oid) as definition from pg_constraint
      where conrelid = to_regclass($1) and convalidated`,
    [table],
  );
  // A reference table of Citus is referenced by distributed tables only.
  const isReferenced = !(await isSharded(executor));
  return REGISTRY_CONSTRAINTS[table]
    .filter(each => isReferenced || each !== TENANT_KEY)
    .filter(each => !rows.some(({ definition }) => definition === each))
    .map(each => `${table} has no valid constraint ${each}.`);
}

async function missingColumns(
  executor: Executor,
  table: TenantTable,
): Promise<string[]> {
  const rows = await executor.read<{
    name: string;
    type: string;
    required: boolean;
  }>(
    `select attname as name, format_type(atttypid, atttypmod) as type,
            attnotnull as required
       from pg_attribute where attrelid = to_regclass($1) and attnum > 0`,
    [table],
  );
  const columns = { ...TENANT_COLUMN, ...LAYOUT[table].columns };
  return Object.entries(columns)
    .filter(
      ([name, { type, required = false }]) =>
        !rows.some(
          row =>
            row.name === name &&
            isOfType(row.type, type) &&
            row.required === required,
        ),
    )
    .map(
      ([name, { type, required }]) =>
        `${table} has no column ${name} of type ${type}${
          required ? ', not null' : ', nullable'
        }.`,
    );
}

/** The columns for limits of single tenants, which no right of its own protects. */
async function missingLimits(executor: Executor): Promise<string[]> {
  const rows = await executor.read<{ name: string; check: string | null }>(
    `select a.attname as name, pg_get_constraintdef(k.oid) as check
       from pg_attribute a
       left join pg_constraint k on k.conrelid = a.attrelid and k.contype = 'c'
                                and k.convalidated and k.conkey = array[a.attnum]
      where a.attrelid = to_regclass('tenants') and not a.attisdropped
        and a.attname = any ($1) and a.atttypid = 'int'::regtype and not a.attnotnull`,
    [Object.keys(TENANT_LIMITS)],
  );
  const columns = Object.entries(TENANT_LIMITS);
  const absent = columns.filter(([column]) =>
    rows.every(({ name }) => name !== column),
  );
  const unchecked = columns
    .filter(column => !absent.includes(column))
    .map(([column, most]) => ({
      column,
      check: `CHECK (((${column} >= 1) AND (${column} <= ${most})))`,
    }))
    .filter(
      ({ column, check }) =>
        !rows.some(row => row.name === column && row.check === check),
    );
  return [
    ...(absent.length > 0
      ? [
          `tenants has no column ${absent
            .map(([column]) => column)
            .join(', ')} of type integer, nullable: run "${operatorCommand(
            'upgrade',
          )}".`,
        ]
      : []),
    ...unchecked.map(
      ({ check }) => `tenants has no valid constraint ${check}.`,
    ),
  ];
}

async function missingConstraints(
  executor: Executor,
  table: TenantTable,
): Promise<string[]> {
  const { foreignKeys, indexes, checks } = LAYOUT[table];
  const expected = [
    ...foreignKeys.map(({ definition }) => definition),
    ...indexes
      .filter(({ constraint, optional }) => constraint && !optional)
      .map(
        ({ on, constraint }) =>
          `${constraint!.toUpperCase()} ${on.replace('btree ', '')}`,
      ),
    ...checks,
  ];
  const rows = await executor.read<{ definition: string }>(
    `select e.definition from unnest($2::text[]) e (definition)
      where not exists (
        select from pg_constraint k
         where k.conrelid = to_regclass($1) and k.convalidated
           and ${comparable('pg_get_constraintdef(k.oid)')} = ${comparable(
      'e.definition',
    )})`,
    [table, expected],
  );
  return rows.map(
    ({ definition }) => `${table} has no valid constraint ${definition}.`,
  );
}

async function missingIndexes(
  executor: Executor,
  table: TenantTable,
): Promise<string[]> {
  const rows = await executor.read<{ definition: string }>(
    `select pg_get_indexdef(indexrelid) as definition from pg_index
      where indrelid = to_regclass($1) and indisvalid`,
    [table],
  );
  const found = rows.map(({ definition }) =>
    definition
      .replace(/[^ (]+\.gin_trgm_ops/, 'gin_trgm_ops')
      // Storage parameters of an index do not matter.
      .replace(/ WITH \([^)]*\)/, ''),
  );
  return LAYOUT[table].indexes
    .filter(({ optional }) => !optional)
    .filter(({ on }) => !found.some(each => each.endsWith(` USING ${on}`)))
    .map(({ on }) => `${table} has no valid index ${on}.`);
}

/** Indexes of the tables and their partitions that are invalid. */
async function unfinished(executor: Executor): Promise<string[]> {
  const rows = await executor.read<{ name: string }>(
    `select i.indexrelid::regclass::text as name
       from pg_class p, pg_partition_tree(p.oid) t
       join pg_index i on i.indrelid = t.relid
      where p.relnamespace = quote_ident(current_schema())::regnamespace and p.relkind = 'p'
        and p.relname = any ($1) and not i.indisvalid
      order by 1`,
    [[...TENANT_TABLES]],
  );
  return rows.map(({ name }) => `The index ${name} is invalid.`);
}

async function wrongPartitioning(
  executor: Executor,
  table: TenantTable,
): Promise<string[]> {
  if (await isSharded(executor)) {
    return [];
  }
  const [row] = await executor.read<{
    key: string | null;
    others: string | null;
  }>(
    `select pg_get_partkeydef(to_regclass($1)) as key,
            (select partdefid::regclass::text from pg_partitioned_table
              where partrelid = to_regclass($1) and partdefid <> 0) as others`,
    [table],
  );
  return [
    ...(row.key === 'LIST (tenant_id)'
      ? []
      : [`${table} is not partitioned by list of tenant_id.`]),
    ...(row.others
      ? []
      : [`${table} has no partition for tenants without one of their own.`]),
  ];
}

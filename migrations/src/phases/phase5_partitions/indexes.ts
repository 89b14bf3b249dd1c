import type { TableCopy } from '../../copy/TableCopy';
import type { Executor } from '../../engine/Executor';
import { TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';

/** An index, or the constraint behind which one stands. */
export interface PartitionedIndex {
  name: string;
  /** Creates it unless it exists. */
  statement: string;
  /** Whether it is unique on the tenant and the entity. */
  ofEntity?: boolean;
}

/** The index that replaying the change log needs before any other is built. */
export function replayIndex(table: TenantTable): string {
  return `${table}_partitioned_entity_idx`;
}

/**
 * The indexes that the specification names for entities (B.2), besides the primary
 * key.
 *
 * @param trigramSchema - the schema of the extension pg_trgm
 */
export function entityIndexes(
  target: string,
  trigramSchema: string,
): PartitionedIndex[] {
  const live = 'where deleted_at is null';
  return [
    constraint(
      target,
      'entities_partitioned_tenant_id_entity_ref_key',
      'unique (tenant_id, entity_ref)',
    ),
    index(
      target,
      'entities_partitioned_live_ref_idx',
      `(tenant_id, entity_ref) ${live}`,
    ),
    index(
      target,
      'entities_partitioned_live_kind_idx',
      `(tenant_id, entity_kind, created_at desc) ${live}`,
    ),
    index(
      target,
      'entities_partitioned_live_name_idx',
      `using gin (entity_name ${trigramSchema}.gin_trgm_ops) ${live}`,
    ),
    index(
      target,
      'entities_partitioned_final_entity_idx',
      'using gin (final_entity jsonb_path_ops)',
    ),
  ];
}

interface SourceIndex {
  name: string;
  definition: string;
  unique: boolean;
  constraint: string | null;
}

/**
 * The indexes that the source of a copy has, for its target. Every key is led by
 * the tenant: a unique one must be, and would tell one tenant of another otherwise;
 * any other finds the tenant's rows in the partition that tenants share.
 */
export async function carriedIndexes(
  executor: Executor,
  { source, target, key }: TableCopy,
): Promise<PartitionedIndex[]> {
  const rows = await executor.read<SourceIndex>(
    `select c.relname as name, pg_get_indexdef(i.indexrelid) as definition,
            i.indisunique as unique, pg_get_constraintdef(k.oid) as constraint
       from pg_index i
       join pg_class c on c.oid = i.indexrelid
       left join pg_constraint k on k.conindid = i.indexrelid
                                and k.conrelid = i.indrelid and k.contype in ('p', 'u')
      where i.indrelid = to_regclass($1)
        and c.relname <> $1 || '_without_tenant_idx'
      order by c.relname`,
    [source],
  );
  return rows
    .filter(row => !isReplaced(row, source, key))
    .map(row => {
      const name = carriedName(source, row.name);
      const definition = ledByTenant(row.constraint ?? bodyOf(row));
      return {
        ...(row.constraint
          ? constraint(target, name, definition)
          : index(target, name, definition, row.unique)),
        ofEntity: row.unique && definition.endsWith(`(tenant_id, ${key})`),
      };
    });
}

/** Whether the target has an index of its own in the place of this one. */
function isReplaced(
  { definition }: SourceIndex,
  source: string,
  key: string,
): boolean {
  const columns = /USING btree \((?:tenant_id, )?([a-z_]+)\)$/.exec(definition);
  return source === 'entities'
    ? ['entity_id', 'entity_ref'].includes(columns?.[1] ?? '')
    : columns?.[1] === key && !definition.startsWith('CREATE UNIQUE');
}

/** What follows the name of the table in CREATE INDEX. */
function bodyOf({ definition }: SourceIndex): string {
  return definition.slice(definition.indexOf(' USING ') + 1);
}

function ledByTenant(definition: string): string {
  return /^(USING (btree|hash)|UNIQUE|PRIMARY KEY)[^(]*\((?!tenant_id\b)/.test(
    definition,
  )
    ? definition
        .replace('USING hash', 'USING btree')
        .replace('(', '(tenant_id, ')
    : definition;
}

function carriedName(source: string, name: string): string {
  const table = TENANT_TABLES.find(each => name.startsWith(`${each}_`));
  const rest = table ? name.slice(table.length + 1) : name;
  return `${source}_partitioned_${rest}`.slice(0, 63);
}

function index(
  target: string,
  name: string,
  on: string,
  unique = false,
): PartitionedIndex {
  return {
    name,
    statement:
      `create ${unique ? 'unique ' : ''}index if not exists "${name}" ` +
      `on ${target} ${on}`,
  };
}

function constraint(
  target: string,
  name: string,
  definition: string,
): PartitionedIndex {
  return {
    name,
    statement: `do $$ begin
  if to_regclass('"${name}"') is null then
    alter table ${target} add constraint "${name}" ${definition};
  end if;
end $$`,
  };
}

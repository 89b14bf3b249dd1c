import type { TableCopy } from '../../copy/TableCopy';
import type { Executor } from '../../engine/Executor';
import type { TenantTable } from '../../schema/tables';

/** A foreign key that a partitioned table gets. */
export interface ForeignKey {
  table: TenantTable;
  /** The partitioned table. */
  target: string;
  name: string;
  definition: string;
  referenced: string;
  comment?: string;
}

/**
 * The foreign keys of a copy: those of the specification (B.2, B.3), and what its
 * source references besides tenants and entities, as it is.
 */
export async function readForeignKeys(
  executor: Executor,
  copy: TableCopy,
  entities: TableCopy,
): Promise<ForeignKey[]> {
  const { table, target } = copy;
  const keys = [
    {
      table,
      target,
      name: `${table}_tenant_id_fkey`,
      definition:
        'foreign key (tenant_id) references tenants (tenant_id) on delete cascade',
      referenced: 'tenants',
    },
  ];
  if (table !== 'entities') {
    keys.push({
      table,
      target,
      name: `${table}_entity_fkey`,
      definition:
        `foreign key (tenant_id, ${copy.key}) references ${entities.target} ` +
        '(tenant_id, entity_id) on delete cascade',
      referenced: entities.target,
    });
  }
  return [...keys, ...(await readOwnForeignKeys(executor, copy))];
}

async function readOwnForeignKeys(
  executor: Executor,
  { table, source, target }: TableCopy,
): Promise<ForeignKey[]> {
  const rows = await executor.read<
    Record<string, string> & { comment: string | null }
  >(
    `select conname as name, obj_description(oid, 'pg_constraint') as comment, pg_get_constraintdef(oid) as definition,
            confrelid::regclass::text as referenced
       from pg_constraint
      where conrelid = to_regclass(quote_ident($1)) and contype = 'f'
        and conparentid = 0
        and confrelid not in (to_regclass('tenants'), to_regclass('entities'))
      order by conname`,
    [source],
  );
  return rows.map(({ name, definition, referenced, comment }) => ({
    table,
    target,
    name,
    definition: definition.replace(/ NOT VALID$/, ''),
    referenced,
    ...(comment === null ? {} : { comment }),
  }));
}

import type { Executor } from '../engine/Executor';
import { catchAllPartition } from '../schema/partitions';
import { escapeIdentifier, escapeLiteral } from '../schema/sql';
import type { TenantTable } from '../schema/tables';
import { indexName } from './names';

/** An index that a new partition gets. */
export interface NewIndex {
  unique: boolean;
  primary: boolean;
  /** Creates it unless it exists. */
  statement: string;
}

interface SharedIndex {
  name: string;
  definition: string;
  constraint: string | null;
  unique: boolean;
  primary: boolean;
}

/**
 * The indexes of the catch-all partition, for a partition that will stand beside
 * it: ATTACH PARTITION takes those that it finds, and builds none.
 */
export async function readIndexes(
  executor: Executor,
  table: TenantTable,
  partition: string,
): Promise<NewIndex[]> {
  const rows = await executor.read<SharedIndex>(
    `select c.relname as name, pg_get_indexdef(i.indexrelid) as definition,
            pg_get_constraintdef(k.oid) as constraint,
            i.indisunique as unique, i.indisprimary as primary
       from pg_index i
       join pg_class c on c.oid = i.indexrelid
       left join pg_constraint k on k.conindid = i.indexrelid
                                and k.conrelid = i.indrelid and k.contype in ('p', 'u')
      where i.indrelid = to_regclass($1) and i.indisvalid
      order by i.indisprimary desc, c.relname`,
    [catchAllPartition(table)],
  );
  return rows.map(({ name, definition, constraint, unique, primary }) => {
    const index = indexName(table, partition, name);
    return {
      unique,
      primary,
      statement: constraint
        ? addConstraint(partition, index, constraint)
        : `create ${unique ? 'unique ' : ''}index if not exists ` +
          `${escapeIdentifier(index)} on ${escapeIdentifier(
            partition,
          )} ${definition.slice(definition.indexOf(' USING ') + 1)}`,
    };
  });
}

function addConstraint(
  partition: string,
  name: string,
  definition: string,
): string {
  return `do $$ begin
  if to_regclass(quote_ident(${escapeLiteral(name)})) is null then
    alter table ${escapeIdentifier(partition)}
      add constraint ${escapeIdentifier(name)} ${definition};
  end if;
end $$`;
}

import type { Executor } from '../engine/Executor';
import { DEFAULT_TENANT_ID, ENTITY_KEY, TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import { isSwapped, oldName, waitingName } from '../schema/partitions';

/** The default tenant's rows of one table, and where they are copied to. */
export interface TableCopy {
  table: TenantTable;
  /** The column with the entity, which the change log records. */
  key: string;
  /** As SQL, in their order; both sides have the same. */
  columns: string[];
  /** The table that the application uses. */
  source: string;
  /** The table that is kept equal to it. */
  target: string;
}

/** `insert into <target> (…)`. */
export function insertInto({ target, columns }: TableCopy): string {
  return `insert into ${target} (${columns.join(', ')})`;
}

/** The condition for the rows that are copied. */
export const COPIED = `tenant_id = '${DEFAULT_TENANT_ID}'`;

/**
 * The default tenant's rows of the three tables, from the side in use to the
 * other: before the swap into the partitioned tables, after it into the old ones.
 */
export async function describeCopies(executor: Executor): Promise<TableCopy[]> {
  const swapped = await isSwapped(executor);
  const copies: TableCopy[] = [];
  for (const table of TENANT_TABLES) {
    copies.push({
      table,
      key: ENTITY_KEY[table],
      columns: await readColumns(executor, table),
      source: table,
      target: swapped ? oldName(table) : await waitingName(executor, table),
    });
  }
  return copies;
}

/** The columns of a table as SQL, in their order, without generated ones. */
export async function readColumns(
  executor: Executor,
  table: string,
): Promise<string[]> {
  const columns = await executor.read<{ name: string }>(
    `select quote_ident(attname) as name from pg_attribute
      where attrelid = to_regclass($1) and attnum > 0 and not attisdropped
        and attgenerated = ''
      order by attnum`,
    [table],
  );
  return columns.map(({ name }) => name);
}

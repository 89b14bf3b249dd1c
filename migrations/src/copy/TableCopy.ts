import type { Executor } from '../engine/Executor';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { DEFAULT_TENANT_ID, ENTITY_KEY, TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import { isSwapped, oldName, waitingName } from '../schema/partitions';

/** A column of a copied table. */
export interface Column {
  name: string;
}

/** Rows of a tenant in one table, and where they are copied to. */
export interface TableCopy {
  table: TenantTable;
  /** The column with the entity, which the change log records. */
  key: string;
  columns: Column[];
  /** The table that the application uses. */
  source: string;
  /** The table that is kept equal to it. */
  target: string;
  tenantId: string;
}

/** The columns of a table, in their order. */
export async function readColumns(
  executor: Executor,
  table: string,
): Promise<Column[]> {
  return executor.read<Column>(
    `select attname as name from pg_attribute
      where attrelid = to_regclass(quote_ident($1)) and attnum > 0
        and not attisdropped
      order by attnum`,
    [table],
  );
}

/** Describes the copying of a table; both sides have the same columns. */
export async function describeCopy(
  executor: Executor,
  table: TenantTable,
  sides: Pick<TableCopy, 'source' | 'target' | 'tenantId'>,
): Promise<TableCopy> {
  const columns = await readColumns(executor, table);
  return { table, key: ENTITY_KEY[table], columns, ...sides };
}

/** The columns that a copy writes, as a list. */
export function writtenColumns({ columns }: TableCopy): string[] {
  return columns.map(({ name }) => escapeIdentifier(name));
}

/** `insert into <target> (…)`. */
export function insertInto(copy: TableCopy): string {
  const columns = writtenColumns(copy).join(', ');
  return `insert into ${escapeIdentifier(copy.target)} (${columns})`;
}

/** The condition for the rows that are copied. */
export function ofTenant(
  { tenantId }: Pick<TableCopy, 'tenantId'>,
  alias?: string,
): string {
  const column = `${alias ? `${alias}.` : ''}tenant_id`;
  return `${column} = ${escapeLiteral(tenantId)}`;
}

/**
 * The default tenant's rows of the three tables, from the side in use to the
 * other: before the swap into the partitioned tables, after it into the old ones.
 */
export async function describeCopies(executor: Executor): Promise<TableCopy[]> {
  const swapped = await isSwapped(executor);
  const copies: TableCopy[] = [];
  for (const table of TENANT_TABLES) {
    const target = swapped
      ? oldName(table)
      : await waitingName(executor, table);
    copies.push(
      await describeCopy(executor, table, {
        source: table,
        target,
        tenantId: DEFAULT_TENANT_ID,
      }),
    );
  }
  return copies;
}

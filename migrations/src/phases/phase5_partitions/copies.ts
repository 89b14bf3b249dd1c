import { describeCopy } from '../../copy/TableCopy';
import type { TableCopy } from '../../copy/TableCopy';
import type { Executor } from '../../engine/Executor';
import { isSwapped, oldName, waitingName } from '../../schema/partitions';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../../schema/tables';

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

import type { Phase, StepContext } from '../../engine/Step';
import { RefusedError } from '../../errors';
import { isSwapped } from '../../schema/partitions';
import { PRODUCT_MIGRATIONS } from '../../productTables/migrations';
import { DEFAULT_TENANT_ID } from '../../schema/tables';
import { refuseShape } from '../../checks/examineShape';
import { partitionedTables } from './10_partitioned_tables';
import { searchTables } from './15_search_tables';
import { changeLog } from './20_change_log';
import { copyRows } from './30_copy';
import { firstCatchUp } from './40_catch_up';
import { indexes } from './50_indexes';
import { foreignKeys } from './60_foreign_keys';
import { swap } from './70_swap';
import { oldSnapshots } from './80_wait_for_old_snapshots';
import { ready } from './97_mark_ready';
import { engineAdoption } from './98_engine_adoption';
import { formatThings } from '../../text';

export const phase5: Phase = {
  number: 5,
  title: 'Primary keys and partitions',
  async checkTables(context) {
    // What is left to do then has nothing to do with the swap.
    if (await isSwapped(context.executor)) {
      return;
    }
    await refuseRowsOfOtherTenants(context);
    await refuseShape(context, 'Phase 5 cannot begin');
  },
  productMigrations: PRODUCT_MIGRATIONS,
  steps: [
    partitionedTables,
    searchTables,
    changeLog,
    copyRows,
    firstCatchUp,
    indexes,
    foreignKeys,
    swap,
    oldSnapshots,
    ready,
    engineAdoption,
  ],
};

/** Before the swap there is one tenant only (specification, migration phases). */
async function refuseRowsOfOtherTenants({
  executor,
}: StepContext): Promise<void> {
  const [{ rows }] = await executor.read<{ rows: number }>(
    `select count(*)::int as rows from entities
      where tenant_id <> $1
        and (select relkind from pg_class where oid = to_regclass('entities')) = 'r'`,
    [DEFAULT_TENANT_ID],
  );
  if (rows > 0) {
    throw new RefusedError(
      `entities holds ${formatThings(
        rows,
        'row',
      )} of other tenants than the default one. The table ` +
        'has room for one tenant until phase 5 is done: delete them, or move them.',
    );
  }
}

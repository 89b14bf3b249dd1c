import type { Phase } from '../../engine/Step';
import { refuseHiddenExtension } from '../../schema/roleAccess';
import { isSwapped } from '../../schema/partitions';
import { PRODUCT_MIGRATIONS } from '../../productTables/migrations';
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

export const phase5: Phase = {
  number: 5,
  title: 'Primary keys and partitions',
  async check(context) {
    if (!(await isSwapped(context.executor))) {
      await refuseHiddenExtension(context);
    }
  },
  async checkTables(context) {
    // What is left to do then has nothing to do with the swap.
    if (!(await isSwapped(context.executor))) {
      await refuseShape(context, 'Phase 5 cannot begin');
    }
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

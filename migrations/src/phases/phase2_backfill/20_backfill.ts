import type { Step } from '../../engine/Step';
import { TENANT_TABLES } from '../../schema/tables';
import { walkBlocks } from '../../copy/walkBlocks';
import { backfillOf, cursorKey } from './backfillOf';
import { checkCounts } from './checkCounts';

/**
 * Sets the default tenant in every row without one, and checks the counts.
 *
 * The undo keeps the values; the undo of phase 1 drops the column.
 */
export const backfill: Step = {
  name: '2_20_backfill',
  title: 'Fill tenant_id in the rows that have none',
  live: true,

  async up(context) {
    for (const table of TENANT_TABLES) {
      await walkBlocks(context, backfillOf(table, context));
    }
    await checkCounts(context);
  },

  async down({ executor, state }) {
    for (const table of TENANT_TABLES) {
      await executor.execute(state.forget(cursorKey(table)));
    }
  },
};

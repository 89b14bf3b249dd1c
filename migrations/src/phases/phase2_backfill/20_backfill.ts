import type { Step } from '../../engine/Step';
import { TENANT_TABLES } from '../../schema/tables';
import { Backfill, cursorKey } from './Backfill';
import { backfillScript } from './backfillScript';
import { checkCounts } from './checkCounts';

/**
 * Gives every row that has no tenant the default one, and counts.
 *
 * The undo leaves the values: whoever wants them gone undoes phase 1, which drops
 * the column.
 */
export const backfill: Step = {
  name: '2_20_backfill',
  title: 'Fill tenant_id in the rows that have none',

  async up(context) {
    for (const table of TENANT_TABLES) {
      await context.executor.work({
        title: `Fill tenant_id in the rows of ${table} that have none`,
        script: [backfillScript(table, context.settings)],
        run: async session =>
          (await Backfill.create(context, session, table)).run(),
      });
    }
    await checkCounts(context);
  },

  async down({ executor, state }) {
    for (const table of TENANT_TABLES) {
      await executor.execute(state.forget(cursorKey(table)));
    }
  },
};

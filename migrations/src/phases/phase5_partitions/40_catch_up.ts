import { replayChanges, replayFunction } from '../../copy/replay';
import type { Creation, Step } from '../../engine/Step';
import {
  ENTITY_KEY,
  REFERENCING_TABLES,
  TENANT_TABLES,
} from '../../schema/tables';
import { defaultTenantPartition } from '../../schema/partitions';
import { describeCopies } from '../../copy/TableCopy';
import { replayIndex } from './50_indexes';

/**
 * Makes the copies equal to their sources for the first time. Before that a row that moved
 * during the copy may exist twice, so unique indexes are built after it.
 */
export const firstCatchUp: Step = {
  name: '5_40_catch_up',
  title: 'Replay what changed during the copy',

  creates: () => [
    replayFunction,
    ...REFERENCING_TABLES.map(
      (table): Creation => ({ kind: 'relation', name: replayIndex(table) }),
    ),
  ],

  async up(context) {
    const { executor } = context;
    const copies = await describeCopies(executor);
    for (const { table, target } of copies.slice(1)) {
      // SHARE on a table that no session uses yet.
      await executor.execute(
        `create index if not exists ${replayIndex(table)} ` +
          `on ${target} (tenant_id, ${ENTITY_KEY[table]})`,
      );
    }
    for (const table of TENANT_TABLES) {
      await executor.execute(`analyze ${defaultTenantPartition(table)}`);
    }
    await replayChanges(context, copies);
  },

  // The indexes are dropped with their tables, the function with the change log.
  async down() {},
};

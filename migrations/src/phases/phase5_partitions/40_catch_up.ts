import { REPLAY_FUNCTION, replayChanges } from '../../copy/replay';
import type { Step } from '../../engine/Step';
import {
  ENTITY_KEY,
  REFERENCING_TABLES,
  TENANT_TABLES,
} from '../../schema/tables';
import { defaultTenantPartition } from '../../schema/partitions';
import { describeCopies } from '../../copy/TableCopy';
import { TERM_INDEXES } from './15_search_tables/tables';
import { replayIndex } from './50_indexes';

// PostgreSQL requires 32 MB for each process of a parallel build.
const SORT_IN_MEMORY = `select set_config('maintenance_work_mem', '128MB', false)
 where pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes('128MB')`;

/**
 * Makes the copies equal to their sources for the first time. Before that a row that moved
 * during the copy may exist twice, so unique indexes are built after it.
 */
export const firstCatchUp: Step = {
  name: '5_40_catch_up',
  title: 'Replay what changed during the copy',
  live: true,

  creates: [
    REPLAY_FUNCTION,
    ...REFERENCING_TABLES.map(replayIndex),
    ...TERM_INDEXES.map(({ name }) => name),
  ],

  async up(context) {
    const { executor, reporter } = context;
    const copies = await describeCopies(executor);
    for (const { table, target } of copies.slice(1)) {
      // SHARE on a table that no session uses yet.
      await executor.execute(
        `create index if not exists ${replayIndex(table)} ` +
          `on ${target} (tenant_id, ${ENTITY_KEY[table]})`,
      );
    }
    await executor.execute(SORT_IN_MEMORY);
    for (const { name, statement } of TERM_INDEXES) {
      reporter.info(`Index ${name}`);
      // SHARE on a table that only this command writes to.
      await executor.execute(statement);
    }
    await executor.execute('reset maintenance_work_mem');
    await executor.execute('analyze entity_terms');
    for (const table of TENANT_TABLES) {
      await executor.execute(`analyze ${defaultTenantPartition(table)}`);
    }
    await replayChanges(context, copies);
  },
  // No `down`: the indexes are dropped with their tables, the function with the change log.
};

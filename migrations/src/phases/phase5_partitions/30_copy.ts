import { BulkCopy } from '../../copy/BulkCopy';
import type { Step } from '../../engine/Step';
import { defaultTenantPartition } from '../../schema/partitions';
import { TENANT_TABLES } from '../../schema/tables';
import { describeCopies } from '../../copy/TableCopy';

/** Copies the rows while the application changes them. */
export const copyRows: Step = {
  name: '5_30_copy',
  title: 'Copy the rows into the partitions of the default tenant',

  async up(context) {
    const { executor } = context;
    for (const copy of await describeCopies(executor)) {
      const bulk = new BulkCopy(
        context,
        copy,
        defaultTenantPartition(copy.table),
      );
      await executor.work({
        title: `Copy the rows of ${copy.source}`,
        script: executor.dryRun ? await bulk.script() : [],
        run: session => bulk.run(session),
      });
    }
  },

  // The copies are dropped with their tables.
  async down({ executor, state }) {
    for (const table of TENANT_TABLES) {
      await executor.execute(
        state.forget(`copy:${defaultTenantPartition(table)}`),
      );
    }
  },
};

import type { Step } from '../../engine/Step';
import {
  catchAllPartition,
  defaultTenantPartition,
  partitionedName,
} from '../../schema/partitions';
import { identifyLike } from '../../schema/replicaIdentity';
import { ENTITY_KEY, TENANT_TABLES } from '../../schema/tables';
import { CATCH_UP_SCRIPT, catchUp } from '../../copy/catchUp';
import { createReplay } from '../../copy/replay';
import { extensionSchema } from '../../schema/lookups';
import { describeCopies } from './copies';
import { carriedIndexes, entityIndexes, replayIndex } from './indexes';
import type { PartitionedIndex } from './indexes';

/** Every other index of the partitioned tables. */
export const indexes: Step = {
  name: '5_50_indexes',
  title: 'Build the indexes of the partitioned tables',

  async creates({ executor }) {
    const names = entityIndexes(partitionedName('entities'), '').map(
      ({ name }) => name,
    );
    for (const table of TENANT_TABLES) {
      const carried = await carriedIndexes(executor, {
        table,
        source: table,
        target: partitionedName(table),
        key: ENTITY_KEY[table],
      });
      names.push(...carried.map(({ name }) => name));
    }
    return names.map(name => ({ kind: 'relation', name }));
  },

  async up(context) {
    const { executor, reporter } = context;
    const copies = await describeCopies(executor);
    const [entities] = copies;
    const all: PartitionedIndex[] = entityIndexes(
      entities.target,
      await extensionSchema(executor, 'pg_trgm'),
    );
    const replaced: string[] = [];
    for (const copy of copies) {
      const carried = await carriedIndexes(executor, copy);
      all.push(...carried);
      if (carried.some(({ ofEntity }) => ofEntity)) {
        replaced.push(replayIndex(copy.table));
      }
    }
    // An undo that was killed leaves the one of the way back.
    await executor.execute(createReplay(copies));
    // A unique index needs the copies as they are at one moment.
    await executor.work({
      title: 'Replay the change log',
      script: CATCH_UP_SCRIPT,
      run: session => catchUp(context, session),
    });
    for (const [position, { name, statement, comment }] of all.entries()) {
      reporter.info(`Index ${position + 1} of ${all.length}: ${name}`);
      // SHARE on a table that only this command writes to.
      await executor.execute(statement);
      if (comment) {
        await executor.execute(comment);
      }
    }
    for (const name of replaced) {
      await executor.execute(`drop index if exists ${name}`);
    }
    for (const table of TENANT_TABLES) {
      await executor.execute(identifyLike(table, catchAllPartition(table)));
      await executor.execute(
        identifyLike(table, defaultTenantPartition(table)),
      );
      // Plans are right from the first query after the swap.
      await executor.execute(
        `vacuum (analyze) ${defaultTenantPartition(table)}`,
      );
    }
  },

  // They are dropped with their tables.
  async down() {},
};

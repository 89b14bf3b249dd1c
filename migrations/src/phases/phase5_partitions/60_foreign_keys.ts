import { CATCH_UP_SCRIPT, catchUp } from '../../copy/catchUp';
import { createReplay } from '../../copy/replay';
import type { Step, StepContext } from '../../engine/Step';
import { addConstraint } from '../../schema/changes';
import { constraintValidity } from '../../schema/lookups';
import {
  archiveName,
  defaultTenantPartition,
  partitionedName,
} from '../../schema/partitions';
import { escapeIdentifier, escapeLiteral } from '../../sql';
import { describeCopies } from './copies';
import { readForeignKeys } from './foreignKeys';
import type { ForeignKey } from './foreignKeys';

const REFERENCING = ['relations', 'refresh_state'] as const;

/**
 * The foreign keys of the copies: on the composite key of entities, on tenants,
 * and those that the tables have by themselves.
 *
 * A partitioned table takes no foreign key that is NOT VALID, and validating one
 * while it is added would lock the table that it references for a scan. So the
 * partition with the rows gets it first, in two parts, and the partitioned table
 * then finds it there.
 */
export const foreignKeys: Step = {
  name: '5_60_foreign_keys',
  title: 'Build the foreign keys of the partitioned tables',

  async up(context) {
    const { executor } = context;
    const copies = await describeCopies(executor);
    // An undo that was killed leaves the one of the way back.
    await executor.execute(createReplay(copies));
    // Consistent at one moment, and from then on at the end of every replay.
    await executor.work({
      title: 'Replay the change log',
      script: CATCH_UP_SCRIPT,
      run: session => catchUp(context, session),
    });
    for (const copy of copies) {
      for (const key of await readForeignKeys(executor, copy, copies[0])) {
        await addForeignKey(context, key);
      }
    }
  },

  /**
   * The others are dropped with their tables. These would keep a copy that begins
   * again from emptying the partition of entities.
   */
  async down({ executor }) {
    for (const table of REFERENCING) {
      await executor.transaction({
        title: `Drop the foreign key of the partitioned ${table} to the entities`,
        locks: 'ACCESS EXCLUSIVE on tables that are not in use.',
        statements: [
          // Under either name: a script is printed before the swap in it is undone.
          ...[partitionedName(table), archiveName(table)].map(
            name =>
              `alter table if exists ${name} drop constraint if exists ${table}_entity_fkey`,
          ),
          // Of a command that was killed before the partitioned table had it.
          `alter table if exists ${defaultTenantPartition(table)} ` +
            `drop constraint if exists ${table}_entity_fkey`,
        ],
      });
    }
  },
};

async function addForeignKey(
  context: StepContext,
  key: ForeignKey,
): Promise<void> {
  const { executor } = context;
  const locks =
    `SHARE ROW EXCLUSIVE on ${key.referenced}, for a change of the catalog: foreign ` +
    'keys of the application go on being checked.';
  await addConstraint(context, {
    table: defaultTenantPartition(key.table),
    name: key.name,
    definition: key.definition,
    locks,
  });
  const found = await constraintValidity(executor, key.target, key.name);
  if (found === 'missing') {
    await executor.transaction({
      title: `Add the constraint ${key.name} to ${key.target}`,
      locks,
      statements: [
        `alter table ${key.target} add constraint ${escapeIdentifier(
          key.name,
        )} ${key.definition}`,
      ],
    });
  }
  if (key.comment) {
    await executor.execute(
      `comment on constraint ${escapeIdentifier(key.name)} on ${
        key.target
      } is ${escapeLiteral(key.comment)}`,
    );
  }
}

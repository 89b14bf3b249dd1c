import {
  CATCH_UP_SCRIPT,
  catchUp,
  provideReplay,
  replayFunction,
} from '../../copy/replay';
import type { Step, StepContext } from '../../engine/Step';
import { addConstraint } from '../../schema/changes';
import { constraintValidity } from '../../schema/lookups';
import {
  archiveName,
  defaultTenantPartition,
  partitionedName,
} from '../../schema/partitions';
import { describeCopies } from '../../copy/TableCopy';
import type { TableCopy } from '../../copy/TableCopy';
import { LAYOUT } from '../../layout';
import { REFERENCING_TABLES } from '../../schema/tables';

/**
 * Adds the foreign keys of the layout: on the composite key of entities, and on tenants.
 *
 * A partitioned table accepts no NOT VALID foreign key, and to add a validated one locks
 * the referenced table during a scan. So the partition with the rows gets it first, NOT
 * VALID and then validated, and the partitioned table adopts it.
 */
export const foreignKeys: Step = {
  name: '5_60_foreign_keys',
  title: 'Build the foreign keys of the partitioned tables',

  creates: () => [replayFunction],

  async up(context) {
    const { executor } = context;
    const copies = await describeCopies(executor);
    // A killed undo leaves the replay function of the way back.
    await provideReplay(executor, copies);
    // The foreign keys hold after a replay, and after each later one.
    await executor.work({
      title: 'Replay the change log',
      script: CATCH_UP_SCRIPT,
      run: session => catchUp(context, session),
    });
    for (const copy of copies) {
      await addForeignKeys(context, copy, copies[0]);
    }
  },

  /**
   * The others are dropped with their tables. These would prevent a repeated copy from
   * truncating the partition of entities.
   */
  async down({ executor }) {
    for (const table of REFERENCING_TABLES) {
      await executor.transaction({
        title: `Drop the foreign key of the partitioned ${table} to the entities`,
        locks: 'ACCESS EXCLUSIVE on tables that are not in use.',
        statements: [
          // Under both names, so that a dry run names those of a swap that stands.
          ...[partitionedName(table), archiveName(table)].map(
            name =>
              `alter table if exists ${name} drop constraint if exists ${table}_entity_fkey`,
          ),
          // A command may be killed before the partitioned table has it.
          `alter table if exists ${defaultTenantPartition(table)} ` +
            `drop constraint if exists ${table}_entity_fkey`,
        ],
      });
    }
  },
};

async function addForeignKeys(
  context: StepContext,
  { table, target }: TableCopy,
  entities: TableCopy,
): Promise<void> {
  for (const { name, definition } of LAYOUT[table].foreignKeys) {
    const [, referenced] = /REFERENCES (\w+)/.exec(definition)!;
    const parent = referenced === 'entities' ? entities.target : referenced;
    const onParent = definition.replace(
      `REFERENCES ${referenced}`,
      `REFERENCES ${parent}`,
    );
    const locksIn = (mode: string) =>
      `${mode} on ${parent}, for a change of the catalog, and on tables that are not in use.`;
    await addConstraint(context, {
      references: parent,
      table: defaultTenantPartition(table),
      name,
      definition: onParent,
      locks: locksIn('SHARE ROW EXCLUSIVE'),
    });
    if (
      (await constraintValidity(context.executor, target, name)) === 'missing'
    ) {
      await context.executor.transaction({
        title: `Add the constraint ${name} to ${target}`,
        locks: locksIn('ACCESS EXCLUSIVE'),
        tables: [parent],
        statements: [
          `alter table ${target} add constraint ${name} ${onParent}`,
        ],
      });
    }
  }
}

import { REPLAY_FUNCTION, replayChanges } from '../../copy/replay';
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
import { REFERENCING_TABLES } from '../../schema/tables';

/**
 * Adds the foreign keys on the composite key of entities; those to tenants are there.
 *
 * A partitioned table accepts no NOT VALID foreign key, and to add a validated one locks
 * the referenced table during a scan. So the partition with the rows gets it first, NOT
 * VALID and then validated, and the partitioned table adopts it.
 */
export const foreignKeys: Step = {
  name: '5_60_foreign_keys',
  title: 'Build the foreign keys of the partitioned tables',
  live: true,

  creates: [REPLAY_FUNCTION],

  async up(context) {
    const copies = await describeCopies(context.executor);
    // The foreign keys hold after a replay, and after each later one.
    await replayChanges(context, copies);
    const [entities, ...others] = copies;
    for (const copy of others) {
      await addForeignKey(context, copy, entities.target);
    }
  },

  /**
   * They would prevent a repeated copy from truncating the partition of entities.
   */
  async down({ executor }) {
    for (const table of REFERENCING_TABLES) {
      await executor.transaction({
        title: `Drop the foreign key of the partitioned ${table} to the entities`,
        locks: 'ACCESS EXCLUSIVE on tables that are not in use.',
        statements: [
          // Under whichever name they wait.
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

async function addForeignKey(
  context: StepContext,
  { table, key, target }: TableCopy,
  entities: string,
): Promise<void> {
  const name = `${table}_entity_fkey`;
  const definition =
    `foreign key (tenant_id, ${key}) ` +
    `references ${entities} (tenant_id, entity_id) on delete cascade`;
  const locksIn = (mode: string) =>
    `${mode} on ${entities}, for a change of the catalog, and on tables that are not in use.`;
  await addConstraint(context, {
    references: entities,
    table: defaultTenantPartition(table),
    name,
    definition,
    locks: locksIn('SHARE ROW EXCLUSIVE'),
  });
  if (
    (await constraintValidity(context.executor, target, name)) === 'missing'
  ) {
    await context.executor.transaction({
      title: `Add the constraint ${name} to ${target}`,
      locks: locksIn('ACCESS EXCLUSIVE'),
      tables: [entities],
      statements: [
        `alter table ${target} add constraint ${name} ${definition}`,
      ],
    });
  }
}

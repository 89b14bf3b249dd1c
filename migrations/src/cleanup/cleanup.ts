import { CHANGE_LOG, dropChangeLog, dropLogTriggers } from '../copy/changeLog';
import { dropFence, dropFenceFunction } from '../copy/fence';
import { REPLAY_FUNCTION } from '../copy/replay';
import type { BriefTransaction } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { Journal } from '../engine/journal';
import { recordedBy } from '../engine/ProductMigration';
import {
  foreignNames,
  recording,
  refuseTaken,
  renewRecord,
} from '../engine/ownership';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { phases } from '../phases';
import { refuseDependentsOf } from '../schema/dependents';
import { existingTables } from '../schema/lookups';
import { isSwapped, oldName } from '../schema/partitions';
import { RETENTION_HOURS, TENANT_TABLES } from '../schema/tables';

// What a cleanup drops.
const DROPPED = [...TENANT_TABLES.map(oldName), CHANGE_LOG];

/**
 * Drops the tables of before the swap, and everything that only served the way
 * back: the change log, its triggers and functions, and with the tables the
 * temporary indexes (specification, Limits: old table retention).
 *
 * @returns whether there was anything to drop
 * @throws {@link RefusedError} before the swap, and within 24 hours of it unless
 *   `settings.force` is set
 */
export async function cleanup(context: StepContext): Promise<boolean> {
  const { executor, settings } = context;
  if (!(await isSwapped(executor))) {
    throw new RefusedError(
      'The partitioned tables are not in use. Run this after phase 5, or ' +
        `"${operatorCommand('rollback')}" to undo phases.`,
    );
  }
  if ((await existingTables(executor, DROPPED)).length === 0) {
    return false;
  }
  const journal = await Journal.read(executor, recordedBy(phases));
  refuseTaken(await foreignNames(context, journal, DROPPED));
  if (!settings.force) {
    await refuseEarly(context);
  }
  await refuseDependentsOf(executor, DROPPED);
  await renewRecord(context, journal);
  for (const transaction of cleanupTransactions(context)) {
    await recording(context, DROPPED).executor.transaction(transaction);
  }
  return true;
}

/** The transactions of a cleanup; each can be repeated. */
export function cleanupTransactions({
  state,
}: StepContext): BriefTransaction[] {
  return [
    ...TENANT_TABLES.map(table => ({
      title: `Stop logging the changes of ${table}`,
      locks: `ACCESS EXCLUSIVE on ${table}, for a change of the catalog.`,
      tables: [table],
      statements: dropLogTriggers(table),
    })),
    // It may still be there.
    ...dropFence,
    {
      title: 'Drop the tables of before the swap and the change log',
      locks:
        `ACCESS EXCLUSIVE on tenants, which they reference, and ${CHANGE_LOG}, for a change of ` +
        'the catalog, and on tables that are not in use.',
      tables: ['tenants', CHANGE_LOG],
      statements: [
        ...[...TENANT_TABLES]
          .reverse()
          .map(table => `drop table if exists ${oldName(table)}`),
        ...dropChangeLog(),
        `drop function if exists ${REPLAY_FUNCTION}`,
        dropFenceFunction,
        state.put('cleanup', { done: true }),
      ],
    },
  ];
}

async function refuseEarly({ executor, state }: StepContext): Promise<void> {
  const swapped = await state.get<{ at: string }>('swap');
  const [{ hours }] = await executor.read<{ hours: number }>(
    'select extract(epoch from now() - $1::timestamptz)::float8 / 3600 as hours',
    [swapped?.at],
  );
  if (hours < RETENTION_HOURS) {
    throw new RefusedError(
      `The tables were swapped ${hours.toFixed(
        1,
      )} hours ago, and the old ones are ` +
        `the way back for ${RETENTION_HOURS} hours. Give --force to drop them now.`,
    );
  }
}

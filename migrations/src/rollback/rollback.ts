import type { StepContext, PhaseNumber, Step } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { RefusedError } from '../errors';
import { phases } from '../phases';
import { swap } from '../phases/phase5_partitions/70_swap';
import { columnExists, relationExists } from '../schema/lookups';
import { archiveName, isSwapped, oldName } from '../schema/partitions';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../schema/tables';

/** Rows that a rollback leaves in the archive, because only it has room for them. */
export interface ArchivedRows {
  table: string;
  rows: number;
  tenants: number;
}

export interface RollbackReport {
  /** The names of the steps that were undone, in this order. */
  undone: string[];
  /** Rows of other tenants than the default one. */
  archived: ArchivedRows[];
}

/**
 * Goes back (specification, Rollback).
 *
 * @param to - the phase whose result remains, 0 for the state before phase 1.
 *   Without it, to the end of an undo that was killed, or back by one safe point: out
 *   of the swapped tables if they are in use, otherwise out of the last phase of
 *   which anything is done. The archive of an earlier rollback stays as it is:
 *   dropping it takes a phase to go back to.
 * @throws {@link RefusedError} if the tables of before were cleaned up, or if rows
 *   would be lost
 */
export async function rollback(
  migration: TenancyMigration,
  to?: PhaseNumber | 0,
): Promise<RollbackReport> {
  const { context } = migration;
  const before = await migration.completedSteps();
  const first =
    to === undefined
      ? (await migration.unfinishedUndo()) ?? (await safePoint(context, before))
      : phases.find(phase => phase.number > to)?.steps[0];
  if (first && isBeforeOrAt(first, swap)) {
    await refuseWithoutOldTables(context);
  }
  if (first) {
    await migration.undoFrom(first);
  }
  const after = await migration.completedSteps();
  return {
    undone: before.filter(name => !after.includes(name)).reverse(),
    archived: await readArchivedRows(context),
  };
}

async function safePoint(
  { executor }: StepContext,
  completed: string[],
): Promise<Step | undefined> {
  if (await isSwapped(executor)) {
    return swap;
  }
  if (await relationExists(executor, archiveName('entities'))) {
    // What a killed rollback had left to do, if anything.
    return completed.includes(swap.name) ? swap : undefined;
  }
  const last = [...phases]
    .reverse()
    .find(({ steps }) => steps.some(step => completed.includes(step.name)));
  return last?.steps[0];
}

function isBeforeOrAt(step: Step, other: Step): boolean {
  const all = phases.flatMap(({ steps }) => steps);
  return all.indexOf(step) <= all.indexOf(other);
}

async function refuseWithoutOldTables({
  executor,
}: StepContext): Promise<void> {
  if (!(await isSwapped(executor))) {
    return;
  }
  for (const table of TENANT_TABLES) {
    if (!(await relationExists(executor, oldName(table)))) {
      throw new RefusedError(
        `${oldName(
          table,
        )} is gone: the tables of before the swap were cleaned up, ` +
          'and there is no way back to them. Restore a backup into another database ' +
          'if you need what they held.',
      );
    }
  }
}

/** What the archive holds of other tenants than the default one. */
export async function readArchivedRows({
  executor,
}: StepContext): Promise<ArchivedRows[]> {
  const archived: ArchivedRows[] = [];
  for (const table of TENANT_TABLES.map(archiveName)) {
    // A table of somebody else's under that name has no tenants.
    if (await columnExists(executor, table, 'tenant_id')) {
      const [counts] = await executor.read<Omit<ArchivedRows, 'table'>>(
        `select count(*)::int as rows, count(distinct tenant_id)::int as tenants
           from ${table} where tenant_id <> $1`,
        [DEFAULT_TENANT_ID],
      );
      archived.push({ table, ...counts });
    }
  }
  return archived;
}

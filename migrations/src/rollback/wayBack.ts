import { isLogged } from '../copy/changeLog';
import type { Executor } from '../engine/Executor';
import type { PhaseNumber, Step, StepContext } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { operatorCommand } from '../operatorCommand';
import { phases } from '../phases';
import { swap } from '../phases/phase5_partitions/70_swap';
import { relationExists } from '../schema/lookups';
import { archiveName, isSwapped, oldName } from '../schema/partitions';
import { TENANT_TABLES } from '../schema/tables';

/** The first step that a rollback undoes. */
export async function firstToUndo(
  migration: Pick<
    TenancyMigration,
    'context' | 'unfinishedUndo' | 'completedSteps'
  >,
  to: PhaseNumber | 0 | undefined,
): Promise<Step | undefined> {
  return to === undefined
    ? (await migration.unfinishedUndo()) ??
        (await safePoint(migration.context, await migration.completedSteps()))
    : phases.find(phase => phase.number > to)?.steps[0];
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

export function isBeforeOrAt(step: Step, other: Step): boolean {
  const all = phases.flatMap(({ steps }) => steps);
  return all.indexOf(step) <= all.indexOf(other);
}

/** Why there is no way back to the tables of before the swap, if so. */
export async function lostWayBack(
  executor: Executor,
): Promise<string | undefined> {
  for (const table of TENANT_TABLES) {
    if (!(await relationExists(executor, oldName(table)))) {
      return `${oldName(
        table,
      )} is gone: the tables of before the swap were cleaned up. Only a backup has what they held.`;
    }
    if (!(await isLogged(executor, table))) {
      return `Changes of ${table} are not logged any more: a cleanup was begun. Run "${operatorCommand(
        'cleanup',
        '--force',
      )}", which ends it.`;
    }
  }
  return undefined;
}

import { refuseShapeToGoBack } from '../checks/examineShape';
import { unadoptAll } from '../adopt/unadopt';
import { STATE_TABLE } from '../engine/MigrationState';
import type { PhaseNumber, Step, StepContext } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { tenantsTable } from '../phases/phase1_tenant_column/10_tenants_table';
import { roles } from '../phases/phase3_application/40_roles';
import { swap } from '../phases/phase5_partitions/70_swap';
import { readCreatedCatalog } from '../schema/createdCatalog';
import { refuseDependentsOfSchemas } from '../schema/dependents';
import { relationExists } from '../schema/lookups';
import { isSwapped } from '../schema/partitions';
import { refuseApplicationSessions } from './applicationSessions';
import type { Interference } from './applicationSessions';
import { dropCatalog } from './dropCatalog';
import { readLosses } from './losses';
import { dropTenantSchemas, readTenantSchemas } from './tenantSchemas';
import { firstToUndo, isBeforeOrAt, lostWayBack } from './wayBack';

const FLAG_OFF =
  'Set MULTI_TENANCY_ENABLED to false, restart the application, and run the command again. ' +
  'Or give --force: an application with the flag on answers with status 503 from then on.';

/**
 * Goes back (specification, Rollback).
 *
 * @param to - the phase whose result remains, 0 for the state before phase 1.
 *   Without it, to the end of an undo that was killed, or back by one safe point: out
 *   of the swapped tables if they are in use, otherwise out of the last phase of
 *   which anything is done. The archive of an earlier rollback stays as it is:
 *   dropping it takes a phase to go back to.
 * @returns the names of the steps that were undone, in this order
 * @throws {@link RefusedError} if the tables of before were cleaned up, or if rows
 *   would be lost; {@link ApplicationConnectedError} while the application is
 *   connected and would lose what it works with
 */
export async function rollback(
  migration: TenancyMigration,
  to?: PhaseNumber | 0,
): Promise<string[]> {
  const { context } = migration;
  if (!(await relationExists(context.executor, STATE_TABLE))) {
    return [];
  }
  const before = await migration.completedSteps();
  const created = await readCreatedCatalog(context);
  if (created && !(to !== undefined && to >= 5)) {
    await refuseAllButTheWholeWay(migration, to);
    await dropCatalog(context, created);
    return [...before].reverse();
  }
  const first = await firstToUndo(migration, to);
  if (first && isBeforeOrAt(first, swap)) {
    if (await isSwapped(context.executor)) {
      const reason = await lostWayBack(context.executor);
      if (reason) {
        throw new RefusedError(reason);
      }
      await refuseShapeToGoBack(context);
    }
  }
  if (first && isBeforeOrAt(first, tenantsTable)) {
    await refuseDependentsOfSchemas(
      context.executor,
      await readTenantSchemas(context),
    );
  }
  if (first) {
    await refuseLosses(migration, to);
    const interference = await interferenceOf(context, first, before);
    if (interference) {
      await refuseApplicationSessions(context, interference);
    }
    await migration.undoFrom(first, async () => {
      if (isBeforeOrAt(first, swap)) {
        await unadoptAll(context);
      }
      if (isBeforeOrAt(first, tenantsTable)) {
        await dropTenantSchemas(context);
      }
    });
  }
  const after = await migration.completedSteps();
  return before.filter(name => !after.includes(name)).reverse();
}

/** Tables that were created have none of before, to which a part of the way would lead. */
async function refuseAllButTheWholeWay(
  migration: TenancyMigration,
  to: PhaseNumber | 0 | undefined,
): Promise<void> {
  const { context } = migration;
  if (to !== 0) {
    throw new RefusedError(
      'The migration created the tables of tenants: there are no older ones to go back to. ' +
        `Run "${operatorCommand('rollback', '--to 0')}", which drops them.`,
    );
  }
  await refuseApplicationSessions(context, {
    takes: 'the tables of tenants',
    advice: FLAG_OFF,
  });
  await refuseLosses(migration, to);
}

/** @throws {@link RefusedError} with what would be deleted that is nowhere else */
async function refuseLosses(
  migration: TenancyMigration,
  to: PhaseNumber | 0 | undefined,
): Promise<void> {
  const { force } = migration.context.settings;
  const losses = force ? [] : await readLosses(migration, to);
  if (losses.length > 0) {
    throw new RefusedError(
      `These would be lost:\n${losses
        .map(loss => `- ${loss}`)
        .join('\n')}\nGive --force if that is what you want.`,
    );
  }
}

/**
 * What an undo takes from sessions of `portal_app`. Before the swap, a rollback of
 * phase 5 or 4 takes nothing from them: they work with the same tables afterwards.
 */
async function interferenceOf(
  { executor }: StepContext,
  first: Step,
  completed: string[],
): Promise<Interference | undefined> {
  if (isBeforeOrAt(first, swap) && (await isSwapped(executor))) {
    return {
      takes: 'the tables of tenants',
      advice: FLAG_OFF,
    };
  }
  if (isBeforeOrAt(first, roles) && completed.includes(roles.name)) {
    return {
      takes: 'the rights to its tables',
      advice:
        'Deploy the application of before, which does not connect as portal_app. ' +
        'Or give --force: what still connects as portal_app is refused from then on.',
    };
  }
  return undefined;
}

import type { StepContext } from '../engine/Step';
import { LAST_BEFORE_CUTOVER } from '../engine/TenancyMigration';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { refuseRules } from '../checks/Rule';
import { publications } from '../checks/shape';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { existingTables } from '../schema/lookups';
import { checkRoleAccess } from '../schema/roleAccess';
import { TENANT_TABLES } from '../schema/tables';

/**
 * Lets the phases create the three tables, where the schema has none of them. Otherwise it does
 * nothing.
 *
 * @returns whether the phases create them
 * @throws {@link RefusedError} if a publication would publish them
 */
export async function beginCreation(
  migration: TenancyMigration,
): Promise<boolean> {
  const { context } = migration;
  if (await migration.creates()) {
    return true;
  }
  if ((await existingTables(context.executor, TENANT_TABLES)).length > 0) {
    return false;
  }
  await refuseRules(context, 'The tables cannot be created', [publications]);
  await migration.beginCreation({ schema: !(await schemaExists(context)) });
  return true;
}

async function schemaExists({
  executor,
  settings,
}: StepContext): Promise<boolean> {
  const [{ exists }] = await executor.read<{ exists: boolean }>(
    'select exists (select from pg_namespace where nspname = $1) as exists',
    [settings.schema],
  );
  return exists;
}

/**
 * Takes a database to the end of phase 5 by creating the tables, which takes seconds and locks
 * nothing that an application uses, or brings those of an earlier version up to date. A dry run
 * prints the first phase that is missing.
 *
 * @returns whether the tables are there
 * @throws {@link RefusedError} if the schema has a catalog of its own that is not migrated
 */
export async function requireLayout(
  migration: TenancyMigration,
): Promise<boolean> {
  const { context } = migration;
  const phase = await migration.completedPhase();
  if (phase >= LAST_BEFORE_CUTOVER) {
    await migration.upgrade();
    return true;
  }
  // Before anything is created.
  await checkRoleAccess(context, await schemaExists(context));
  if (!(await beginCreation(migration))) {
    throw new RefusedError(
      `The schema "${context.settings.schema}" has a catalog of its own, and phase ` +
        `${LAST_BEFORE_CUTOVER} is not complete. Next: ${operatorCommand(
          `phase${phase + 1}`,
        )}.`,
    );
  }
  await migration.runPhases(LAST_BEFORE_CUTOVER);
  return !context.executor.dryRun;
}

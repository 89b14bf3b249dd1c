import { cleanup } from '../cleanup/cleanup';
import { bookkeepingStatements } from '../engine/journal';
import type { StepContext } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { createCatalogTables, isFreshDatabase } from '../schema/catalogTables';
import { checkRoleAccess } from '../schema/roleAccess';
import { readCreatedCatalog, rememberCreated } from '../schema/createdCatalog';
import { revokeAllStatement } from '../schema/grants';
import { TENANT_TABLES } from '../schema/tables';
import { refusePublications } from '../schema/publications';
import { phases } from '.';

/** The phases that build the tables of tenants. */
const LAST_PHASE = 5;

/**
 * Creates the three tables, empty, where the schema has none of them. Otherwise it does nothing.
 *
 * @param keepsOldTables - whether phase 5 keeps tables of before, to which a rollback goes back.
 *   Otherwise it is remembered that the way back drops everything.
 * @throws {@link RefusedError} if the schema has only some of the tables, or a publication
 *   would publish them
 */
export async function createEmptyCatalog(
  context: StepContext,
  keepsOldTables: boolean,
): Promise<void> {
  if (!(await isFreshDatabase(context))) {
    return;
  }
  await refusePublications(context, 'The tables cannot be created');
  const { settings, state } = context;
  const created = { schema: !(await schemaExists(context)) };
  await createCatalogTables(context, [
    // What default privileges granted.
    ...TENANT_TABLES.map(revokeAllStatement),
    ...(keepsOldTables
      ? []
      : [
          ...bookkeepingStatements(settings.schema),
          rememberCreated(state, created),
        ]),
  ]);
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
 * nothing that an application uses, or brings those of an earlier version up to date. A dry run prints the first phase that is missing: what the
 * later ones do depends on its outcome.
 *
 * @returns whether the tables are there
 * @throws {@link RefusedError} if the schema has a catalog of its own that is not migrated
 */
export async function requireLayout(
  migration: TenancyMigration,
): Promise<boolean> {
  const { context } = migration;
  const phase = await migration.completedPhase();
  if (phase >= LAST_PHASE) {
    await migration.upgrade();
    return true;
  }
  // Before anything is created.
  await checkRoleAccess(context, await schemaExists(context));
  await createEmptyCatalog(context, false);
  if (!context.executor.dryRun && !(await readCreatedCatalog(context))) {
    throw new RefusedError(
      `The schema "${context.settings.schema}" has a catalog of its own, and phase ` +
        `${LAST_PHASE} is not complete. Next: ${operatorCommand(
          `phase${(phase + 1) as 1 | 2 | 3 | 4 | 5}`,
        )}.`,
    );
  }
  for (const { number } of phases) {
    if (number > phase && number <= LAST_PHASE) {
      await migration.runPhase(number);
      if (context.executor.dryRun) {
        return false;
      }
    }
  }
  await dropEmptyTables(context);
  return true;
}

/**
 * Drops the tables of before the swap, which are empty: while they are there, each write is
 * logged for a way back to them.
 */
export async function dropEmptyTables(context: StepContext): Promise<void> {
  await cleanup({
    ...context,
    // Empty tables are not kept for 24 hours.
    settings: { ...context.settings, force: true },
  });
}

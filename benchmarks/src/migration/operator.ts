import {
  type MigrationSettings,
  phases,
  rollback,
  silentReporter,
  TenancyMigration,
} from './engine';
import type { Database } from './database';
import { StepClock, Stopped } from './StepClock';

type Reporter = typeof silentReporter;

/** The schema of the tables. */
export const SCHEMA = 'tenancy';

// The commands' own defaults.
const SETTINGS: MigrationSettings = {
  schema: SCHEMA,
  lockTimeoutMs: 30,
  batchSize: 2000,
  defaultTenantName: 'Default tenant',
  adminGrant: true,
  // The writers are connected as portal_app while the swap is undone.
  force: true,
};

/** Runs a command of an operator, in a session of its own. */
export async function operate<T>(
  { postgres, name }: Database,
  command: (migration: TenancyMigration) => Promise<T>,
  reporter: Reporter = silentReporter,
): Promise<T> {
  const migration = await TenancyMigration.open({
    phases,
    connection: { connectionString: postgres.connectionString(name) },
    command: 'benchmark',
    settings: SETTINGS,
    mode: 'change',
    reporter,
  });
  try {
    return await command(migration);
  } finally {
    await migration.close();
  }
}

/** `migrate:phase<n>` */
export async function runPhase(
  database: Database,
  phase: 1 | 2 | 3 | 4 | 5,
  reporter?: Reporter,
): Promise<void> {
  await operate(database, migration => migration.runPhase(phase), reporter);
}

/** The same up to a step, before which it is ended; what it measured until then. */
export async function runPhaseUpTo(
  database: Database,
  phase: 1 | 2 | 3 | 4 | 5,
  step: { name: string; title: string },
): Promise<StepClock> {
  const clock = new StepClock({ stopBefore: step });
  await runPhase(database, phase, clock.reporter).then(
    () => {
      throw new Error(`Phase ${phase} has no step ${step.name}`);
    },
    error => {
      if (!(error instanceof Stopped)) {
        throw error;
      }
    },
  );
  return clock;
}

/** `migrate:rollback`, with `--to` or without. */
export async function goBack(
  database: Database,
  to?: 0 | 1 | 2 | 3 | 4,
  reporter?: Reporter,
): Promise<void> {
  await operate(database, migration => rollback(migration, to), reporter);
}

// What an operator does. The package's public interface goes forward only; measured is the way back
// too.
/* eslint-disable @backstage/no-relative-monorepo-imports */
import { Writable } from 'node:stream';
import { main } from '../../../migrations/src/cli/program';
import type {
  MigrationSettings,
  PhaseNumber,
} from '../../../migrations/src/engine/Step';
import { TenancyMigration } from '../../../migrations/src/engine/TenancyMigration';
import { phases } from '../../../migrations/src/phases';
import {
  type Reporter,
  silentReporter,
} from '../../../migrations/src/Reporter';
import { rollback } from '../../../migrations/src/rollback/rollback';
import { SINGLE_TENANT_TABLES } from '@internal/catalog-testing/tenancyDatabase';
import { SCHEMA } from './backend';
import { type Database, runStatements } from './database';

export { type Reporter, silentReporter };

// The commands' own defaults.
const SETTINGS: MigrationSettings = {
  schema: SCHEMA,
  maxPauseMs: 1000,
  batchSize: 2000,
  defaultTenantName: 'Default tenant',
  adminGrant: true,
  // The writers are connected as portal_app while the swap is undone.
  force: true,
};

async function operate<T>(
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
  phase: PhaseNumber,
  reporter?: Reporter,
): Promise<void> {
  await operate(database, migration => migration.runPhase(phase), reporter);
}

/** `migrate:rollback`, with `--to` or without. */
export async function goBack(
  database: Database,
  to?: 0 | 1 | 2 | 3 | 4,
  reporter?: Reporter,
): Promise<void> {
  await operate(database, migration => rollback(migration, to), reporter);
}

/** Creates the empty tables of a catalog as it is before phase 1. */
export async function createSingleTenantTables(
  database: Database,
): Promise<void> {
  await runStatements(database, SINGLE_TENANT_TABLES);
}

/** `migrate:partition` */
export async function givePartition(
  { postgres, name }: Database,
  slug: string,
): Promise<void> {
  const url = postgres.connectionString(name);
  let said = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      said += chunk;
      done();
    },
  });
  const exitCode = await main(
    ['partition', slug, '--schema', SCHEMA, '--url', url],
    { stdout: stream, stderr: stream },
  );
  if (exitCode !== 0) {
    throw new Error(`No partition for ${slug}: ${said}`);
  }
}

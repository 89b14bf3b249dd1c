// The package's public interface goes forward only; measured is the way back too.
/* eslint-disable @backstage/no-relative-monorepo-imports */
import { once } from 'node:events';
import {
  isMainThread,
  parentPort,
  Worker,
  workerData,
} from 'node:worker_threads';
import type {
  MigrationSettings,
  PhaseNumber,
} from '../../../migrations/src/engine/Step';
import { TenancyMigration } from '../../../migrations/src/engine/TenancyMigration';
import { phases } from '../../../migrations/src/phases';
import { silentReporter } from '../../../migrations/src/Reporter';
import { rollback } from '../../../migrations/src/rollback/rollback';
import { SCHEMA } from '../harness/backend';
import type { Database } from '../harness/database';

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

/** `migrate:phase<n>`, or `migrate:rollback`, with `--to` or without. */
export type Command =
  | { phase: PhaseNumber }
  | { rollbackTo?: 0 | 1 | 2 | 3 | 4 };

interface CommandSettings {
  connectionString: string;
  command: Command;
}

/**
 * Runs a command in a thread of its own. In that of the writers, it would keep them from seeing
 * that they go on.
 *
 * @param onReplayed - called whenever the change log is replayed, which is the last thing before
 * a swap
 */
export async function operate(
  { postgres, name }: Database,
  command: Command,
  onReplayed: () => void = () => undefined,
): Promise<void> {
  const settings: CommandSettings = {
    connectionString: postgres.connectionString(name),
    command,
  };
  const worker = new Worker(__filename, { workerData: settings });
  worker.on('message', onReplayed);
  await once(worker, 'exit');
}

async function runCommand(
  { connectionString, command }: CommandSettings,
  onProgressEnd: () => void,
): Promise<void> {
  const migration = await TenancyMigration.open({
    phases,
    connection: { connectionString },
    command: 'benchmark',
    settings: SETTINGS,
    mode: 'change',
    reporter: {
      ...silentReporter,
      progress: () => ({ advance: () => undefined, finish: onProgressEnd }),
    },
  });
  try {
    await ('phase' in command
      ? migration.runPhase(command.phase)
      : rollback(migration, command.rollbackTo));
  } finally {
    await migration.close();
  }
}

if (!isMainThread && workerData?.connectionString) {
  // An error ends the thread, and `once` throws it.
  runCommand(workerData, () => parentPort?.postMessage('replayed'));
}

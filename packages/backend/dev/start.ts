// What `npm start` runs: PostgreSQL, if the configuration names none, and the
// backend, both of which end when this process does.

import { targetPaths } from '@backstage/cli-common';
import { Postgres, PostgresStartError } from '@internal/postgres';
import {
  backendArguments,
  assertPortIsFree,
  loadSettings,
  Settings,
  StartError,
} from './settings';
import { BackendProcess, untilSamplesAreServed, stopRequest } from './backend';
import { banner } from './banner';
import {
  createApplicationUser,
  databaseEnvironment,
  startEmbeddedDatabase,
  prepareEarlierData,
} from './database';

const READINESS_PATH = '/.backstage/health/v1/readiness';

// Stopping is what was asked for, and npm calls any other exit code an error.
const EXIT_CODE_WHEN_STOPPED = 0;

const stopped = stopRequest().then(() => EXIT_CODE_WHEN_STOPPED);

async function start(): Promise<number> {
  const args = backendArguments(process.argv.slice(2));
  const settings = await loadSettings(args);
  await assertPortIsFree(settings.listen);
  if (settings.ownDatabase) {
    assertTenancyUser(settings);
    return await runBackend(args, settings);
  }
  const postgres = await startEmbeddedDatabase(targetPaths.rootDir);
  try {
    const user = await createApplicationUser(postgres);
    const done =
      settings.tenancy.enabled &&
      (await prepareEarlierData(postgres, settings));
    if (done) {
      process.stdout.write(`${done}\n`);
    }
    return await runBackend(args, settings, {
      postgres,
      env: {
        ...databaseEnvironment(postgres),
        ...user,
      },
    });
  } finally {
    await postgres.stop();
  }
}

async function runBackend(
  args: string[],
  settings: Settings,
  embedded?: { postgres: Postgres; env: Record<string, string> },
): Promise<number> {
  const postgres = embedded?.postgres;
  const backend = BackendProcess.start({
    args,
    folder: targetPaths.resolveRoot('packages/backend'),
    env: embedded?.env ?? {},
  });
  let isOver = false;
  const ended = Promise.race([
    stopped,
    backend.exited,
    ...(postgres ? [endOf(postgres)] : []),
  ]).finally(() => {
    isOver = true;
  });
  try {
    const isReady = await Promise.race([
      ended.then(() => false),
      backend.untilReady(`${settings.localUrl}${READINESS_PATH}`),
    ]);
    if (isReady && settings.hasGuest && settings.hasSamples) {
      await Promise.race([
        ended,
        untilSamplesAreServed(settings.localUrl, () => !isOver, {
          tenants: settings.tenancy.enabled,
        }),
      ]);
    }
    if (isReady && !isOver) {
      process.stdout.write(banner(settings, postgres?.dataDirectory));
    }
    return await ended;
  } finally {
    await backend.stop();
  }
}

/** On the user's own server, only the user can create a user for tenants. */
function assertTenancyUser({ ownDatabase, tenancy }: Settings): void {
  if (tenancy.enabled && !tenancy.hasUser) {
    throw new StartError(
      `With tenants, ${ownDatabase} needs a user for their rows: run ` +
        `"create role portal_app login noinherit password '…'" there, and set ` +
        `TENANCY_POSTGRES_USER=portal_app and TENANCY_POSTGRES_PASSWORD. Or do ` +
        `without tenants: MULTI_TENANCY_ENABLED=false`,
    );
  }
}

async function endOf(postgres: Postgres): Promise<never> {
  await postgres.exited;
  throw new StartError(
    `PostgreSQL has ended by itself: see ${postgres.dataDirectory}/postgres.log`,
  );
}

function explain(error: Error): string {
  return error instanceof StartError || error instanceof PostgresStartError
    ? error.message
    : String(error.stack);
}

start().then(
  code => process.exit(code),
  error => {
    process.stderr.write(`${explain(error)}\n`);
    process.exit(1);
  },
);

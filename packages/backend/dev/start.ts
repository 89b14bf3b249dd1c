// What `npm start` runs: PostgreSQL, if the configuration names none, and the
// backend, both of which end when this process does. Before, it builds the pages that the
// backend serves.

import { targetPaths } from '@backstage/cli-common';
import { Postgres, PostgresStartError } from '@internal/postgres';
import { buildPages } from './app';
import {
  Arguments,
  assertPortIsFree,
  loadSettings,
  parseArguments,
  Settings,
  StartError,
} from './settings';
import { BackendProcess, untilSamplesAreServed, stopRequest } from './backend';
import { banner } from './banner';
import {
  createApplicationUser,
  keepPassword,
  databaseEnvironment,
  startEmbeddedDatabase,
  prepareEarlierData,
} from './database';

const READINESS_PATH = '/.backstage/health/v1/readiness';

// Stopping is what was asked for, and npm calls any other exit code an error.
const EXIT_CODE_WHEN_STOPPED = 0;

const stopped = stopRequest().then(() => EXIT_CODE_WHEN_STOPPED);

const print = (line: string) => process.stdout.write(`${line}\n`);

async function start(): Promise<number> {
  const args = parseArguments(process.argv.slice(2));
  if (args.help) {
    process.stdout.write(args.help);
    return 0;
  }
  const settings = await loadSettings(args.config);
  await assertPortIsFree(settings.listen);
  if (settings.ownDatabase) {
    assertTenancyUser(settings);
  }
  const stopping = new AbortController();
  const pages = args.app
    ? preparePages(args, settings, stopping.signal)
    : Promise.resolve(false);
  try {
    return settings.ownDatabase
      ? await runBackend({ args, settings, pages })
      : await runWithEmbeddedDatabase({ args, settings, pages });
  } finally {
    stopping.abort();
    await pages;
  }
}

interface Run {
  args: Arguments;
  settings: Settings;
  /** Whether there are pages to serve, once they are built. */
  pages: Promise<boolean>;
}

/** Builds the pages if need be. Without them the backend is worth running still. */
async function preparePages(
  args: Arguments,
  settings: Settings,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await buildPages({
      config: args.config,
      appPackages: settings.appPackages,
      signal,
      print,
    });
    return true;
  } catch (error) {
    if (!signal.aborted) {
      process.stderr.write(
        `The pages can't be built, and the backend runs without them:\n${explain(
          error as Error,
        )}\n`,
      );
    }
    return false;
  }
}

async function runWithEmbeddedDatabase(run: Run): Promise<number> {
  const { settings } = run;
  const postgres = await startEmbeddedDatabase(targetPaths.rootDir);
  try {
    const user = await createApplicationUser(postgres);
    await keepPassword(targetPaths.rootDir, user);
    const done =
      settings.tenancy.enabled &&
      (await prepareEarlierData(postgres, settings));
    if (done) {
      print(done);
    }
    return await runBackend(run, {
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
  { args, settings, pages }: Run,
  embedded?: { postgres: Postgres; env: Record<string, string> },
): Promise<number> {
  const postgres = embedded?.postgres;
  const hasPages = await Promise.race([pages, stopped.then(() => undefined)]);
  if (hasPages === undefined) {
    return stopped;
  }
  const backend = BackendProcess.start({
    args: args.config,
    folder: targetPaths.resolveRoot('packages/backend'),
    env: { ...embedded?.env, PORTAL_PAGES: String(hasPages) },
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
      process.stdout.write(
        banner(settings, { embedded: postgres?.dataDirectory, hasPages }),
      );
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

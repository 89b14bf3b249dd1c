import { setTimeout as sleep } from 'node:timers/promises';
import { availableVersions } from '@internal/postgres';
import type { PostgresVersion } from '@internal/postgres';
import { Random, waitUntil } from '@internal/postgres/testUtils';
import { APPLICATION_PREFIX } from '../session/operatorLock';
import {
  BACK_AND_FORTH,
  LiveMigration,
  UP,
} from './__testUtils__/LiveMigration';
import type { Disturbance } from './__testUtils__/LiveMigration';
import type { CliProcess } from '../cli/__testUtils__/runCli';
import type { CatalogServer } from './__testUtils__/CatalogServer';
import {
  numberFromEnvironment,
  sizesFromEnvironment,
} from './__testUtils__/sizes';

// The command is killed at random moments and run again, and the server goes down,
// while writers write. As often as the migration has been proven against:
//
//   LIVE_TRAFFIC_KILLS=50 LIVE_TRAFFIC_RESTARTS=3 LIVE_TRAFFIC_SEEDED=5000 \
//     CI=1 npx backstage-cli repo test migrations/src/liveTraffic/chaos
//
// A run that failed is repeated with LIVE_TRAFFIC_SEED as it was printed.

jest.setTimeout(3_600_000);

const sizes = sizesFromEnvironment();
const kills = numberFromEnvironment('KILLS', 2);
const restarts = numberFromEnvironment('RESTARTS', 1);

// Killed at up to so many milliseconds after it has begun to work.
const LONGEST_RUN_MS = 2000;

/** All versions where a size is asked for; by default one of them, for the time it takes. */
function versionsFor(
  size: 'KILLS' | 'RESTARTS',
  byDefault: (versions: PostgresVersion[]) => PostgresVersion | undefined,
): PostgresVersion[] {
  const versions = availableVersions();
  const asked = process.env[`LIVE_TRAFFIC_${size}`] !== undefined;
  const one = byDefault(versions);
  return asked || !one ? versions : [one];
}

/** Resolves once the command is connected, or has ended. */
async function atWork(
  server: CatalogServer,
  finished: Promise<unknown>,
): Promise<void> {
  let ended = false;
  finished.then(() => {
    ended = true;
  });
  await waitUntil('the command to connect', async () => {
    const { rows } = await server.query(client =>
      client.query(
        `select from pg_stat_activity where application_name like $1`,
        [`${APPLICATION_PREFIX}%`],
      ),
    );
    return ended || rows.length > 0;
  });
}

interface Moment {
  migration: LiveMigration;
  command: CliProcess;
  random: Random;
}

/**
 * Goes through all phases, and back and forth until there were enough
 * disturbances, and lists what went wrong.
 */
async function problemsAfter(
  version: PostgresVersion,
  enough: number,
  disturb: (moment: Moment) => Promise<boolean>,
): Promise<string[]> {
  const random = new Random(sizes.seed);
  const migration = await LiveMigration.start(version, sizes);
  let done = 0;
  const upTo = (count: number) => {
    const end = Math.min(enough, done + count);
    return (): Disturbance | undefined =>
      done < end
        ? async command => {
            done += (await disturb({ migration, command, random })) ? 1 : 0;
          }
        : undefined;
  };
  try {
    for (const args of UP) {
      await migration.run(args, upTo(1 + random.below(5)));
    }
    do {
      for (const args of BACK_AND_FORTH) {
        await migration.run(args, upTo(1 + random.below(5)));
      }
    } while (done < enough);
    const problems = await migration.end();
    // eslint-disable-next-line no-console
    console.info(`${done} disturbances\n${migration.traffic.summary()}`);
    return problems;
  } finally {
    await migration.server.stop();
  }
}

describe.each(versionsFor('KILLS', ([lowest]) => lowest))(
  'live traffic in chaos on PostgreSQL %s',
  version => {
    it(`survives ${kills} kills of the command`, async () => {
      const problems = await problemsAfter(version, kills, async options => {
        const { migration, command, random } = options;
        await atWork(migration.server, command.result);
        const moment = sleep(random.below(LONGEST_RUN_MS));
        await Promise.race([moment, command.result]);
        return command.signal('SIGKILL');
      });
      expect(problems).toEqual([]);
    });
  },
);

describe.each(versionsFor('RESTARTS', versions => versions.at(-1)))(
  'live traffic in chaos on PostgreSQL %s',
  version => {
    it(`survives ${restarts} restarts of the server`, async () => {
      let crash = false;
      const problems = await problemsAfter(version, restarts, async options => {
        const { migration, command, random } = options;
        const { server, traffic } = migration;
        await atWork(server, command.result);
        await sleep(random.below(LONGEST_RUN_MS));
        crash = !crash;
        await traffic.outage(() => (crash ? server.crash() : server.restart()));
        return true;
      });
      expect(problems).toEqual([]);
    });
  },
);

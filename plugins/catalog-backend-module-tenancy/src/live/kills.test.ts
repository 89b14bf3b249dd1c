import { setTimeout as delay } from 'node:timers/promises';
import {
  createTestDatabases,
  Random,
  waitUntil,
} from '@internal/postgres/testUtils';
import { Journey } from './__testUtils__/Journey';
import { APPLICATION_PREFIX } from './__testUtils__/migrations';
import { sizesFromEnvironment } from './__testUtils__/sizes';

// As often as one likes:
//
//   LIVE_ENGINE_KILLS=50 LIVE_ENGINE_PROVIDED=2000 \
//     CI=1 npx backstage-cli repo test plugins/catalog-backend-module-tenancy/src/live/kills

jest.setTimeout(3_600_000);

const databases = createTestDatabases({ versions: 'newest' });
const sizes = sizesFromEnvironment();

// Killed at up to so many milliseconds after it has begun to work.
const LONGEST_RUN_MS = 400;

describe('an operator who is stopped while the engine works', () => {
  const random = new Random(sizes.seed);
  let journey: Journey;
  beforeAll(async () => {
    // eslint-disable-next-line no-console
    console.info(`LIVE_ENGINE_SEED=${sizes.seed}`);
    journey = await Journey.start(databases, 'POSTGRES_18', sizes);
  });
  afterAll(() => journey?.stop());

  /** The sessions of commands on this database. */
  const sessions = () =>
    journey.database.query<{ pid: number }>(
      `select pid from pg_stat_activity
        where datname = current_database() and application_name like $1`,
      [`${APPLICATION_PREFIX}%`],
    );

  /** Resolves a random moment after a command has connected, or has ended. */
  async function anyMoment(finished: Promise<unknown>): Promise<void> {
    let over = false;
    const ended = finished.then(() => {
      over = true;
    });
    await waitUntil(
      'the command to connect',
      async () => over || (await sessions()).length > 0,
    );
    await Promise.race([ended, delay(random.below(LONGEST_RUN_MS))]);
  }

  it('adopts in the end, however often the command is killed', async () => {
    for (let kill = 0; kill < sizes.kills; kill += 1) {
      const command = journey.begin('adopt', '--batch-size', '5');
      await anyMoment(command.finished);
      command.kill();
      await command.finished;
      expect(journey.catalog.log.problems).toEqual([]);
    }
    await journey.run('adopt');
    await journey.expectEqual('adoption');
  });

  it('loses nothing when the connection is cut', async () => {
    await journey.run('unadopt');
    for (let cut = 0; cut < sizes.kills; cut += 1) {
      const adoption = journey.adopt().then(
        () => 'done',
        () => 'cut',
      );
      await anyMoment(adoption);
      await journey.database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name like $1`,
        [`${APPLICATION_PREFIX}%`],
      );
      await adoption;
      expect(journey.catalog.log.problems).toEqual([]);
    }
    await journey.adopt();
    await journey.expectEqual('adoption over connections that were cut');
  });

  it('is not in the way of another one', async () => {
    await journey.run('unadopt');
    const results = await Promise.allSettled(
      Array.from({ length: 3 }, () => journey.adopt()),
    );
    const refused = results.flatMap(result =>
      result.status === 'rejected' ? [result.reason.name] : [],
    );
    expect(refused.length).toBeLessThan(results.length);
    expect(new Set(refused).size).toBeLessThan(2);
    expect(['OtherOperatorError', undefined]).toContain(refused[0]);
    await journey.expectEqual('several adoptions at once');
  });
});

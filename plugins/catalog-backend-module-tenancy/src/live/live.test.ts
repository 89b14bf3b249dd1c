import { createTestDatabases } from '@internal/postgres/testUtils';
import { databaseSnapshot } from './__testUtils__/databaseSnapshot';
import { Journey } from './__testUtils__/Journey';
import { sizesFromEnvironment } from './__testUtils__/sizes';

// The engine of a stock catalog works all the time, on files and for entity
// providers, while an operator takes its database to tenants and back. More of it:
//
//   LIVE_ENGINE_PROVIDED=1000 LIVE_ENGINE_FILES=20 LIVE_ENGINE_ROUNDS=5 \
//     CI=1 npx backstage-cli repo test plugins/catalog-backend-module-tenancy/src/live
//
// A run that failed is repeated with LIVE_ENGINE_SEED as it was printed, as far as the
// engine does the same again.

jest.setTimeout(3_600_000);

const databases = createTestDatabases();
const sizes = sizesFromEnvironment();

const UP = [
  ['phase1', '--backup-completed', '--allow-missing', 'pg_cron'],
  ['phase2'],
  ['phase3'],
  ['phase4'],
  ['phase5'],
];

describe('a live catalog', () => {
  let journey: Journey;
  let before: string[];

  beforeAll(async () => {
    // eslint-disable-next-line no-console
    console.info(`LIVE_ENGINE_SEED=${sizes.seed}`);
    journey = await Journey.start(databases, 'POSTGRES_18', sizes);
    before = await databaseSnapshot(journey.database);
  });
  afterAll(() => journey?.stop());

  async function expectEqualAfter(...args: string[]): Promise<void> {
    await journey.run(...args);
    expect({ after: args[0], is: await journey.problemsAtRest() }).toEqual({
      after: args[0],
      is: [],
    });
  }

  it('is adopted', () => expectEqualAfter('adopt'));

  it.each(UP)('goes through %s', (...args) => expectEqualAfter(...args));

  it('is served as the catalog of the default tenant', async () => {
    await journey.deploy(true);
    expect(await journey.problemsAtRest()).toEqual([]);
  });

  it('is moved between partitions', async () => {
    await expectEqualAfter('unpartition', 'default');
    await expectEqualAfter('partition', 'default');
  });

  it('goes back to the start, and over all phases again', async () => {
    for (let round = 0; round < sizes.rounds; round += 1) {
      await journey.deploy(false);
      await expectEqualAfter('rollback', '--to', '0');
      for (const args of UP) {
        await journey.run(...args);
        expect(await journey.problems()).toEqual([]);
      }
      await journey.deploy(true);
      expect(await journey.problemsAtRest()).toEqual([]);
    }
  });

  it('leaves nothing behind when it is given back', async () => {
    await journey.deploy(false);
    await journey.run('rollback', '--to', '0');
    await journey.run('unadopt');
    expect(await databaseSnapshot(journey.database)).toEqual(before);
  });
});

import { databaseSnapshot } from '@internal/catalog-testing/databaseSnapshot';
import { createTestDatabases } from '@internal/postgres/testUtils';
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

const databases = createTestDatabases({ versions: 'newest' });
const sizes = sizesFromEnvironment();

describe('a catalog whose engine never stops', () => {
  it('is adopted, taken back and adopted again, and is given back as it was', async () => {
    // eslint-disable-next-line no-console
    console.info(`LIVE_ENGINE_SEED=${sizes.seed}`);
    const journey = await Journey.start(databases, 'POSTGRES_18', sizes);
    const run = async (...args: string[]) => {
      await journey.run(...args);
      await journey.expectEqual(args.join(' '));
    };
    try {
      const before = await databaseSnapshot(journey.database);
      await journey.adopt();
      await journey.expectEqual('adoption');
      await journey.deploy(true);
      await journey.expectEqual('the flag on');

      // Another tenant's entities, by the names of the engine's, are none of its business.
      const entities = journey.live.entities().slice(0, 5);
      await journey.catalog.addTenant('other', entities);
      const others = () => journey.catalog.apiOf('other').get('/entities');
      const { body } = await others().expect(200);
      expect(body).toHaveLength(entities.length);
      await run('partition', 'other');
      await run('unpartition', 'other');
      expect((await others()).body).toEqual(body);

      await run('phase6', '--base-url', journey.catalog.baseUrl);
      expect(await journey.run('status')).toContain('phase 6 is complete');

      for (let round = 0; round < sizes.rounds; round += 1) {
        await journey.deploy(false);
        await journey.run('rollback', '--to', '0', '--force', '--yes');
        await journey.adopt();
        await journey.deploy(true);
        await journey.expectEqual('adopted again');
      }

      await journey.deploy(false);
      await journey.run('rollback', '--to', '0');
      expect(await databaseSnapshot(journey.database)).toEqual(before);
    } finally {
      await journey.stop();
    }
  });
});

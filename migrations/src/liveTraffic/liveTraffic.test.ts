import { testedVersions } from '@internal/postgres/testUtils';
import {
  BACK_AND_FORTH,
  LiveMigration,
  UP,
} from './__testUtils__/LiveMigration';
import { sizesFromEnvironment } from './__testUtils__/sizes';

// Writers run from before the first phase to the end without a pause. More of
// them, for longer:
//
//   LIVE_TRAFFIC_WRITERS=8 LIVE_TRAFFIC_SEEDED=20000 LIVE_TRAFFIC_TRANSACTIONS=500 \
//     CI=1 npx backstage-cli repo test migrations/src/liveTraffic/liveTraffic
//
// A run that failed is repeated with LIVE_TRAFFIC_SEED as it was printed.

const sizes = sizesFromEnvironment();

describe.each(testedVersions())('live traffic on PostgreSQL %s', version => {
  it('goes through all phases, back and forward again', async () => {
    const migration = await LiveMigration.start(version, sizes);
    try {
      for (const args of [...UP, ...BACK_AND_FORTH]) {
        await migration.run(args);
      }
      const problems = await migration.end();
      // eslint-disable-next-line no-console
      console.info(migration.traffic.summary());
      expect(problems).toEqual([]);
      // It would have noticed.
      const lost = await migration.server.query(async client => {
        await client.query('delete from refresh_state');
        return migration.traffic.differences(client);
      });
      expect(lost[0]).toMatch(/^refresh_state: missing /);
    } finally {
      await migration.server.stop();
    }
  });
});

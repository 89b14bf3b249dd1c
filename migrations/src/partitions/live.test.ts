import { createTestDatabases } from '@internal/postgres/testUtils';
import { connectionOf } from '../__testUtils__/roles';
import { LiveTraffic } from '../liveTraffic/__testUtils__/LiveTraffic';
import { sizesFromEnvironment } from '../liveTraffic/__testUtils__/sizes';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { givePartition, takeBackPartition } from './move';
import { describeTenants, OTHER, TEAM } from './__testUtils__/tenants';

const databases = createTestDatabases();

const sizes = {
  ...sizesFromEnvironment(),
  writers: 2,
  entitiesPerWriter: 20,
  bigTransaction: 50,
  longestHoldMs: 200,
};

describe.each(databases.eachSupportedId())('live moves on %s', id => {
  const { database } = describeTenants(databases, id);

  it('lose no write, and let none fail', async () => {
    const login = {
      ...(await connectionOf(database, 'portal_app')),
      options: '-c search_path=tenancy',
    };
    const traffic = await LiveTraffic.start(
      database.client,
      [TEAM, OTHER, DEFAULT_TENANT_ID].map(tenantId => ({
        name: 'new',
        ...{ login, tenantId },
      })),
      sizes,
      // An older snapshot does not show the rows that have moved.
      { isolations: ['read committed'] },
    );
    try {
      for (let round = 0; round < 3; round += 1) {
        for (const command of [givePartition, takeBackPartition]) {
          await traffic.committed(5);
          await expect(
            database.migrate(({ context }) =>
              command(context, 'my-team', { maxBlockMs: 60_000 }),
            ),
          ).resolves.toMatchObject({ changed: true });
        }
      }
      await expect(traffic.end(database.client)).resolves.toEqual([]);
    } finally {
      // Writers that go on would keep a command that failed from being reported.
      await traffic.stop();
    }
  });
});

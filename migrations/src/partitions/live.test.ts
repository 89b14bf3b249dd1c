import { createTestDatabases } from '@internal/postgres/testUtils';
import { connectionOf } from '../__testUtils__/roles';
import { givePartition, takeBackPartition } from '.';
import { describeTenants, OTHER, TEAM } from './__testUtils__/tenants';
import { TenantWriter } from './__testUtils__/TenantWriter';

const databases = createTestDatabases();
const DEFAULT = '00000000-0000-0000-0000-000000000001';

describe.each(databases.eachSupportedId())('live moves on %s', id => {
  const { database } = describeTenants(databases, id);

  it('lose no write, and let none fail', async () => {
    const login = await connectionOf(database(), 'portal_app');
    const writers: TenantWriter[] = [];
    for (const tenant of [TEAM, TEAM, OTHER, DEFAULT]) {
      for (const isolation of ['read committed', 'repeatable read'] as const) {
        const name = `writer-${writers.length}`;
        writers.push(
          await TenantWriter.connect(login, { tenant, isolation, name }),
        );
      }
    }
    const runs = Promise.all(writers.map(writer => writer.run()));
    for (let round = 0; round < 3; round += 1) {
      for (const command of [givePartition, takeBackPartition]) {
        await Promise.all(writers.map(writer => writer.committed(5)));
        await expect(
          database().migrate(({ context }) => command(context, 'my-team')),
        ).resolves.toMatchObject({ changed: true });
      }
    }
    writers.forEach(writer => writer.stop());
    await runs;
    for (const writer of writers) {
      await expect(writer.found(database().client)).resolves.toEqual(
        writer.expected(),
      );
    }
  });
});

import { createTestDatabases } from '@internal/postgres/testUtils';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { ConnectionLostError } from '../errors';
import { MigrationSession } from '../session/MigrationSession';
import { givePartition, takeBackPartition } from '.';
import { contents, describeTenants, TEAM } from './__testUtils__/tenants';

const databases = createTestDatabases();
const STRIDE = 3;

describe.each(databases.eachSupportedId())('killed moves on %s', id => {
  const { database } = describeTenants(databases, id);
  afterEach(() => jest.restoreAllMocks());

  /** Runs a command whose connection ends before its n-th message to the server. */
  async function killAt(n: number, command: typeof givePartition) {
    const original = MigrationSession.prototype.query;
    let count = 0;
    const spy = jest
      .spyOn(MigrationSession.prototype, 'query')
      .mockImplementation(async function query(
        this: MigrationSession,
        ...args: Parameters<typeof original>
      ) {
        count += 1;
        if (count >= n) {
          await this.close();
          throw new ConnectionLostError('killed');
        }
        return original.apply(this, args) as any;
      });
    try {
      await database().migrate(({ context }) => command(context, 'my-team'));
      return true;
    } catch (error) {
      expect(error).toEqual(new ConnectionLostError('killed'));
      return false;
    } finally {
      spy.mockRestore();
    }
  }

  it('go on from wherever they were, and lose nothing', async () => {
    const catalog = await catalogSnapshot(database().client);
    for (const command of [givePartition, takeBackPartition]) {
      let n = 1;
      let expected = await contents(database());
      while (!(await killAt(n, command))) {
        n += STRIDE;
        await database().client.query(
          `update entities set hash = 'after-${n}'
            where tenant_id = '${TEAM}' and entity_name = 'part-${n % 60}'`,
        );
        expected = await contents(database());
      }
      // It was killed many times, and the last run completed.
      expect(n).toBeGreaterThan(5 * STRIDE);
      await expect(contents(database())).resolves.toEqual(expected);
      await expect(
        database().migrate(({ context }) => command(context, 'my-team')),
      ).resolves.toMatchObject({ changed: false });
      await expect(contents(database())).resolves.toEqual(expected);
    }
    await expect(catalogSnapshot(database().client)).resolves.toEqual(catalog);
  });
});

import { ReplicatedPostgres } from '@internal/postgres';
import type { PostgresConnection } from '@internal/postgres';
import { eventually, testedVersions } from '@internal/postgres/testUtils';
import { openCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { seedCatalog } from '../__testUtils__/seed';
import { findings, preflight } from './__testUtils__/preflight';

describe.each(testedVersions({ versions: 'every' }))(
  'a catalog with a standby on PostgreSQL %d',
  version => {
    let servers: ReplicatedPostgres;
    let database: CatalogDatabase;

    beforeAll(async () => {
      servers = await ReplicatedPostgres.start(version);
      database = await openCatalogDatabase({
        ...servers.primary,
        database: 'postgres',
      });
      await seedCatalog(database.client, { entities: 5 });
    });

    afterAll(async () => {
      await database.close();
      await servers.stop();
    });

    const standbys = async (connection?: PostgresConnection) =>
      findings(
        await preflight(
          database,
          connection && {
            connection: { ...connection, database: 'postgres' },
          },
        ),
        'warning',
        'standbys',
      );

    it('is told of it, also as a login that may not see what it is', async () => {
      await eventually(async () =>
        expect(await standbys()).toEqual([
          expect.objectContaining({
            message: expect.stringMatching(/by 30 s: walreceiver\.$/),
          }),
        ]),
      );
      await database.client.query(`create role plain login password 'p'`);
      await expect(
        standbys({ ...servers.primary, user: 'plain', password: 'p' }),
      ).resolves.toHaveLength(1);
    });

    it('is told of a standby that is away', async () => {
      const slot = `select pg_create_physical_replication_slot('away')`;
      await database.client.query(slot);
      const [found] = await standbys();
      expect(found.message).toMatch(/slot away/);
      await database.client.query(`select pg_drop_replication_slot('away')`);
    });
  },
);

import { ReplicatedPostgres } from '@internal/postgres';
import type { PostgresConnection } from '@internal/postgres';
import {
  eventually,
  testedVersions,
  withDeadline,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { openCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { seedCatalog } from '../__testUtils__/seed';
import { findings, preflight } from './__testUtils__/preflight';

describe.each(testedVersions({ versions: 'every' }))(
  'a catalog with a standby on PostgreSQL %d',
  version => {
    let servers: ReplicatedPostgres;
    let database: CatalogDatabase;
    const clients: Client[] = [];

    const connect = async (connection: PostgresConnection) => {
      const client = new Client({ ...connection, database: 'postgres' });
      // That of a reader which the replay of a lock ends.
      client.on('error', () => undefined);
      clients.push(client);
      await client.connect();
      return client;
    };

    beforeAll(async () => {
      servers = await ReplicatedPostgres.start(version);
      database = await openCatalogDatabase({
        ...servers.primary,
        database: 'postgres',
      });
      await seedCatalog(database.client, { entities: 5 });
    });

    afterAll(async () => {
      await Promise.all(clients.map(client => client.end()));
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
            message: expect.stringMatching(
              /^Standbys replay the log of this server: walreceiver\. /,
            ),
          }),
        ]),
      );
      await database.client.query(`create role plain login password 'p'`);
      const [hidden] = await standbys({
        ...servers.primary,
        user: 'plain',
        password: 'p',
      });
      expect(hidden.message).toMatch(
        /^Without pg_monitor, the login plain does not see whether these are standbys: walreceiver\. /,
      );
    });

    it('has one reader there make no other wait, with the statements as printed', async () => {
      const replica = await connect(servers.replica);
      // The reader would make the others wait for ever.
      await replica.query('alter system set max_standby_streaming_delay = -1');
      const [found] = await standbys();
      const [before, after] = found
        .sql!.split(/^-- At each standby, .*:\n/m)
        .slice(1);
      for (const statement of before.trim().split('\n')) {
        await replica.query(statement);
      }
      const delay = async () =>
        (await replica.query('show max_standby_streaming_delay')).rows[0]
          .max_standby_streaming_delay;
      await eventually(async () => expect(await delay()).toBe('1s'));

      const [reader, other] = [
        await connect(servers.replica),
        await connect(servers.replica),
      ];
      const read = 'select count(*)::int as count from tenancy.entities';
      await reader.query('begin');
      await eventually(() => reader.query(read));
      const ended = new Promise<Error>(resolve =>
        reader.once('error', resolve),
      );
      await database.migrate(migration => migration.runPhase(1));
      await expect(
        withDeadline('the reader to be ended', ended),
      ).resolves.toMatchObject({
        message: 'terminating connection due to conflict with recovery',
      });
      await withDeadline(
        'the other reader',
        eventually(async () => {
          const { rows } = await other.query(
            `select count(tenant_id)::int as count from tenancy.entities`,
          );
          expect(rows).toEqual([{ count: 0 }]);
        }),
      );

      // The other session may have ended for the reader's conflict, too.
      const later = await connect(servers.replica);
      for (const statement of after.trim().split('\n')) {
        await later.query(statement);
      }
      await eventually(async () => {
        const { rows } = await later.query('show max_standby_streaming_delay');
        expect(rows).toEqual([{ max_standby_streaming_delay: '30s' }]);
      });
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

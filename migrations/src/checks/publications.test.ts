import { Postgres } from '@internal/postgres';
import { testedVersions } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { openCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runPhases } from '../__testUtils__/runPhases';
import { AGAIN } from './Rule';
import { seedCatalog } from '../__testUtils__/seed';
import { findings, preflight } from '../preflight/__testUtils__/preflight';
import { rollback } from '../rollback/rollback';

describe.each(testedVersions({ versions: 'every' }))(
  'a published catalog on PostgreSQL %d',
  version => {
    let server: Postgres;
    let database: CatalogDatabase;
    let count = 0;

    beforeAll(async () => {
      server = await Postgres.start({
        version,
        settings: { wal_level: 'logical' },
      });
    });
    afterAll(() => server.stop());

    beforeEach(async () => {
      count += 1;
      const admin = new Client(server.connectionString());
      await admin.connect();
      await admin.query(`create database catalog${count}`);
      await admin.end();
      database = await openCatalogDatabase({
        connectionString: server.connectionString(`catalog${count}`),
      });
      await seedCatalog(database.client, { entities: 12 });
    });
    afterEach(() => database.close());

    const query = async (sql: string) =>
      (await database.client.query(sql)).rows;
    const published = async (publication: string) =>
      (
        await query(
          `select tablename from pg_publication_tables where pubname = '${publication}' order by 1`,
        )
      ).map(({ tablename }) => tablename);
    /** The statements of a refusal for now, and those for later. */
    const parts = (text: string) =>
      text
        .split(AGAIN)
        .map(part => (part.match(/^ {9}.*;$/gm) ?? []).join('\n'));

    it('goes all the way and back with the statements as printed', async () => {
      await query(
        'create publication "Feed" for table entities, relations, refresh_state',
      );
      const [found, ...more] = findings(
        await preflight(database),
        'failure',
        'publications',
      );
      expect(more).toEqual([]);
      expect(found.message).toMatch(
        /: Feed \(tenancy.entities, tenancy.relations, tenancy.refresh_state\)\.$/,
      );
      await expect(runPhases(database, 1)).rejects.toMatchObject({
        exitCode: 3,
        message: expect.stringContaining(found.sql!.split('\n')[0]),
      });
      await query(found.sql!);
      await runPhases(database, 5);
      await query(found.again!);
      await expect(published('Feed')).resolves.toEqual([
        'entities_tenant_default',
        'refresh_state_tenant_default',
        'relations_tenant_default',
      ]);

      const back = () => database.migrate(migration => rollback(migration));
      const refused = await back().catch(error => error);
      expect(refused.message).toContain(
        'Feed (tenancy.entities_tenant_default',
      );
      const [first, last] = parts(refused.message);
      await query(first);
      await back();
      await query(last);
      await expect(published('Feed')).resolves.toEqual([
        'entities',
        'refresh_state',
        'relations',
      ]);
    });

    it('is refused where a publication has all tables', async () => {
      await query('create publication everything for all tables');
      const [found] = findings(
        await preflight(database),
        'failure',
        'publications',
      );
      expect(found.message).toMatch(/: everything \(all tables\)\.$/);
      await query(found.sql!);
      await runPhases(database, 5);
    });

    if (version >= 15) {
      it('is refused where a publication has the schema', async () => {
        await query('create publication whole for tables in schema tenancy');
        await expect(runPhases(database, 1)).rejects.toThrow(
          'whole (all tables)',
        );
      });
    }
  },
);

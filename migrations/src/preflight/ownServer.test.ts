import { Postgres } from '@internal/postgres';
import type { PostgresVersion } from '@internal/postgres';
import { withClient } from '@internal/postgres/testUtils';
import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCatalogDatabase } from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { runPhases } from '../__testUtils__/runPhases';
import { seedCatalog } from '../__testUtils__/seed';
import { EXIT_CODES } from '../errors';
import { verify } from '../verify/verify';
import { withMigration } from '../withMigration';
import { findings, preflight as preflightOf } from './__testUtils__/preflight';

// What is about the server as a whole, on servers that nobody else uses.
describe.each<PostgresVersion>([14, 18])(
  'a PostgreSQL %d of its own',
  version => {
    let folder: string;
    let server: Postgres;

    const start = async () => {
      server = await Postgres.start({
        version,
        dataDirectory: join(folder, 'server'),
      });
    };

    const query = async (sql: string) =>
      withClient(
        { connectionString: server.connectionString() },
        async client => (await client.query(sql)).rows,
      );

    /** Works with the catalog of the server. */
    const withCatalog = async <T>(
      use: (database: CatalogDatabase) => Promise<T>,
    ): Promise<T> => {
      const database = await openCatalogDatabase({
        connectionString: server.connectionString(),
      });
      return use(database).finally(() => database.close());
    };

    const preflight = () => withCatalog(database => preflightOf(database));

    const dataDirectory = () => join(server.dataDirectory, 'data');

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'preflight-'));
      await start();
      await withClient(
        { connectionString: server.connectionString() },
        client => seedCatalog(client, { entities: 20 }),
      );
    });

    afterAll(async () => {
      await server.stop();
      await rm(folder, { recursive: true });
    });

    it('is told how much of its disk the migration needs', async () => {
      const [found] = findings(await preflight(), 'ok', 'free disk');
      expect(found.message).toMatch(
        /^The migration needs about [\d.]+ [kM]B of free disk/,
      );
    });

    // PostgreSQL 14 has no setting for it, and its files are shared with other tests.
    if (version === 18) {
      it('is refused where it lacks the additional modules', async () => {
        await query(`alter system set extension_control_path = '${folder}'`);
        await query('select pg_reload_conf()');
        const report = await preflight();
        await query('alter system reset extension_control_path');
        await query('select pg_reload_conf()');
        expect(findings(report, 'failure')).toEqual([
          expect.objectContaining({
            check: 'extensions',
            details: expect.arrayContaining([
              'uuid-ossp, not available on the server',
              'pg_trgm, not available on the server',
            ]),
          }),
        ]);
      });
    }

    it('is refused roles of others with the names of ours, which stay as they are until the operator changes them', async () => {
      const readRoles = () =>
        query(
          `select r.rolname as role, rolcanlogin, rolinherit, rolsuper, rolbypassrls,
                  array(select g.rolname::text from pg_auth_members m join pg_roles g on g.oid = m.roleid
                         where m.member = r.oid) as groups
             from pg_roles r where r.rolname ~ '^portal_' order by 1`,
        );
      await query(
        `create extension pg_trgm schema public;
         create role staff;
         create role portal_admin login;
         create role portal_app inherit login in role staff`,
      );
      const before = await readRoles();
      const [found] = findings(await preflight(), 'failure', 'roles');
      expect(found.message).toMatch(
        /^portal_admin may log in, portal_app inherits from its roles, portal_app is a member of staff: /,
      );
      const runPhases3 = () => withCatalog(database => runPhases(database, 3));
      await expect(runPhases3()).rejects.toMatchObject({
        exitCode: EXIT_CODES.refused,
        message: expect.stringContaining('alter role portal_admin nologin'),
      });
      expect(await readRoles()).toEqual(before);
      await query(found.sql!);
      await runPhases3();
    });

    it('is told which roles it lacks, such as after the restore of a dump', async () => {
      const found = await withMigration(
        { connection: server.connectionString() },
        { command: 'test', mode: 'change' },
        async migration => {
          await migration.runPhases(5);
          await query(
            `alter role portal_admin rename to gone_admin;
             alter role portal_app rename to gone_app`,
          );
          return verify(migration);
        },
      );
      expect(found.checks.flatMap(({ problems }) => problems)).toEqual(
        expect.arrayContaining([
          'There is no role portal_admin: run "create role portal_admin nologin bypassrls".',
          'There is no role portal_app: run "create role portal_app login noinherit".',
        ]),
      );
    });

    it('is refused as a standby', async () => {
      await server.stop();
      const signal = join(dataDirectory(), 'standby.signal');
      const { uid, gid } = await stat(dataDirectory());
      await writeFile(signal, '');
      await chown(signal, uid, gid);
      await start();
      expect(findings(await preflight(), 'failure')).toEqual([
        expect.objectContaining({
          check: 'writable',
          message: 'The server takes no writes: it is a standby.',
        }),
      ]);
      await expect(
        withCatalog(database => runPhases(database, 1)),
      ).rejects.toThrow('Connect to the primary server');
    });
  },
);

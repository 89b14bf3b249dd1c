import { Postgres } from '@internal/postgres';
import type { PostgresVersion } from '@internal/postgres';
import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { testSettings } from '../__testUtils__/catalogDatabase';
import { seedCatalog } from '../__testUtils__/seed';
import { TenancyMigration } from '../engine/TenancyMigration';
import { phases } from '../phases';
import { verify } from '../verify/verify';
import { withMigration } from '../withMigration';
import { runPreflight } from './runPreflight';
import { findings } from './__testUtils__/preflight';

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

    const query = async (...statements: string[]) => {
      const client = new Client(server.connectionString());
      await client.connect();
      for (const statement of statements) {
        await client.query(statement);
      }
      await client.end();
    };

    const preflight = async (connectionString = server.connectionString()) => {
      const migration = await TenancyMigration.open({
        phases,
        connection: { connectionString },
        command: 'test',
        mode: 'read',
        settings: testSettings,
      });
      try {
        return await runPreflight(migration.context, {
          backupCompleted: true,
        });
      } finally {
        await migration.close();
      }
    };

    const dataDirectory = () => join(server.dataDirectory, 'data');

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'preflight-'));
      await start();
      const client = new Client(server.connectionString());
      await client.connect();
      await seedCatalog(client, { entities: 20 });
      await client.end();
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

    it('is told which roles it lacks, such as after the restore of a dump', async () => {
      await query('create extension pg_trgm');
      const found = await withMigration(
        { connection: server.connectionString() },
        { command: 'test', mode: 'change' },
        async migration => {
          await migration.runPhases(5);
          await query(
            'alter role portal_admin rename to gone_admin',
            'alter role portal_app rename to gone_app',
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
        TenancyMigration.open({
          phases,
          connection: { connectionString: server.connectionString() },
          command: 'test',
          mode: 'change',
          settings: testSettings,
        }),
      ).rejects.toThrow('Connect to the primary server');
    });
  },
);

import {
  createTestDatabases,
  withDeadline,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { catalogTemplate } from '../__testUtils__/catalogTemplate';
import { changeRole, connectionOf } from '../__testUtils__/roles';
import { silentReporter } from '../Reporter';
import { RefusedError } from '../errors';
import { privileges } from '../phases/phase4_row_level_security/10_privileges';
import { DiskWatch } from './DiskWatch';

const databases = createTestDatabases({ versions: 'newest' });
const MB = 1024 ** 2;

describe.each(databases.eachSupportedId())(
  'the watch of the disk on %s',
  id => {
    const afterPhase4 = catalogTemplate(databases, id, {
      entities: 200,
      phase: 4,
    });
    let database: CatalogDatabase;
    let other: Client;
    beforeEach(async () => {
      database = await afterPhase4();
      other = new Client(database.connection);
      await other.connect();
      await other.query('set search_path = tenancy');
    });
    afterEach(async () => {
      await other.end();
      await database.close();
    });

    const runPhase5 = (
      freeDiskBytes: number,
      options: Parameters<CatalogDatabase['migrate']>[1] = {},
    ) =>
      database.migrate(async migration => {
        const disk = await DiskWatch.open(migration, freeDiskBytes);
        return disk.during(5, () => migration.runPhase(5));
      }, options);

    /** Runs phase 5 up to a message, and has the disk filled while it waits there. */
    async function fillDiskAt(
      title: string,
      holdUp: string,
      connection = database.connection,
    ): Promise<unknown> {
      let stopped: Promise<unknown> = Promise.resolve();
      const reached = new Promise<void>(resolve => {
        stopped = runPhase5(200 * MB, {
          connection,
          reporter: {
            ...silentReporter,
            info: message => {
              if (message === title) {
                resolve();
              }
            },
          },
        }).catch(error => error);
      });
      await other.query('begin');
      const early = await withDeadline(title, Promise.race([reached, stopped]));
      if (early) {
        return early;
      }
      await other.query(holdUp);
      await database.client.query(`create table junk as
        select repeat(md5(i::text), 32) from generate_series(1, 160 * 900) i`);
      return withDeadline('the stop', stopped);
    }

    it('refuses phase 5 where there is too little room, and says how much it needs', async () => {
      await expect(runPhase5(MB)).rejects.toThrow(
        /^Too little room for phase 5. It needs .* for entity_terms with its indexes.*; 64 MB have to stay free.* are free \(of what was given\)/,
      );
      await expect(
        database.client.query('select from entities_partitioned'),
      ).rejects.toMatchObject({ code: '42P01' });
    });

    it('lets it run where there is enough', async () => {
      await expect(runPhase5(200 * MB)).resolves.toBe(true);
    });

    it('subtracts what was written since the size was given', async () => {
      await database.migrate(async migration => {
        const disk = await DiskWatch.open(migration, 200 * MB);
        await database.client.query(`create table junk as
          select repeat(md5(i::text), 32) from generate_series(1, 160 * 900) i`);
        await expect(
          disk.during(5, () => migration.runPhase(5)),
        ).rejects.toThrow(/^Too little room for phase 5/);
      });
    });

    it('leaves the order of the phases to the phase', async () => {
      await database.migrate(async migration => {
        const disk = await DiskWatch.open(migration, MB);
        await expect(disk.during(6, async () => 'done')).resolves.toBe('done');
        await migration.undoFrom(privileges);
        await expect(
          disk.during(5, () => migration.runPhase(5)),
        ).rejects.toThrow('Phase 5 needs phase 4');
      });
    });

    it.each([
      [
        'asks for a lock again and again',
        'Log which entities change',
        `update entities set hash = 'open'`,
      ],
      [
        'waits in a statement',
        'Build the indexes of the partitioned tables',
        'lock table entities_tenant_default in access exclusive mode',
      ],
    ])(
      'stops it where others fill the disk while it %s, and it goes on later',
      async (_, title, holdUp) => {
        const error = await fillDiskAt(title, holdUp);
        expect(error).toBeInstanceOf(RefusedError);
        expect((error as Error).message).toMatch(
          /^Phase 5 was stopped, .* left \(of what was given\)\. What is left of it needs .* for entity_terms/,
        );
        await other.query('rollback');
        await database.client.query('drop table junk');
        await expect(runPhase5(200 * MB)).resolves.toBe(true);
      },
    );

    it('stops it for a login that is no superuser, in the middle of a statement', async () => {
      const login = `tenancy_disk_${process.pid}_${id.toLowerCase()}`;
      const { client } = database;
      await changeRole(client, `create role ${login} login`);
      try {
        for (const role of ['portal_admin', 'portal_app', 'catalog_report']) {
          await changeRole(client, `grant ${role} to ${login}`);
        }
        await expect(
          fillDiskAt(
            'Build the indexes of the partitioned tables',
            'lock table entities_tenant_default in access exclusive mode',
            await connectionOf(database, login),
          ),
        ).resolves.toThrow(/^Phase 5 was stopped/);
      } finally {
        await other.query('rollback');
        await client.query(`drop owned by ${login}; drop role ${login}`);
      }
    });

    it('tells a login that may not see the disk that it is not watched, and what it needs', async () => {
      const login = `tenancy_blind_${process.pid}_${id.toLowerCase()}`;
      const { client } = database;
      const warnings: string[] = [];
      await changeRole(client, `create role ${login} login`);
      try {
        await changeRole(client, `grant portal_admin to ${login}`);
        await database.migrate(
          async migration => {
            const disk = await DiskWatch.open(migration);
            await expect(disk.during(5, async () => 'done')).resolves.toBe(
              'done',
            );
          },
          {
            connection: await connectionOf(database, login),
            reporter: {
              ...silentReporter,
              warn: message => warnings.push(message),
            },
          },
        );
      } finally {
        await client.query(`drop role ${login}`);
      }
      expect(warnings).toEqual([
        expect.stringMatching(
          /^The free disk is not watched: the login may not see .*needs .* for entity_terms.*--free-disk 500GB/,
        ),
      ]);
    });
  },
);

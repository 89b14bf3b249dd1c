import {
  changeRole,
  createTestDatabases,
  withClient,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { forEachTest } from '../../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { catalogSnapshot } from '../../__testUtils__/catalogSnapshot';
import { asLogin, connectionOf } from '../../__testUtils__/roles';
import { silentReporter } from '../../Reporter';
import type { MigrationSettings } from '../../engine/Step';
import { privileges } from './10_privileges';
import { verification } from './50_verification';

const databases = createTestDatabases({ versions: 'every' });

describe.each(databases.eachSupportedId())('phase 4 on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, { phase: 3 }),
  );
  const q = (sql: string) => database.client.query(sql);

  const phase4 = (settings: Partial<MigrationSettings> = {}) =>
    database.migrate(migration => migration.runPhase(4), { settings });

  const undo = (settings: Partial<MigrationSettings> = {}) =>
    database.migrate(migration => migration.undoFrom(privileges), { settings });

  const refused = (text: string) => ({
    name: 'RefusedError',
    message: expect.stringContaining(text),
  });

  it('names the old application that is still connected, unless forced', async () => {
    await changeRole(database.client, 'create role tenancy_old_app login');
    await q(`grant usage on schema tenancy to tenancy_old_app;
             grant select, insert on entities to tenancy_old_app`);
    await withClient(
      {
        ...(await connectionOf(database, 'tenancy_old_app')),
        application_name: 'backstage catalog',
      },
      async old => {
        await expect(phase4()).rejects.toMatchObject(
          refused('"backstage catalog", login tenancy_old_app'),
        );
        await expect(
          database.migrate(migration => migration.completedPhase()),
        ).resolves.toBe(3);
        await expect(phase4({ force: true })).resolves.toBe(true);
        await expect(
          old.query('select from tenancy.entities'),
        ).rejects.toMatchObject({
          message: 'permission denied for table entities',
        });
      },
    );
  });

  it('goes on beside the sessions of superusers, which no policy refuses, and names them', async () => {
    const monitoring = new Client({
      ...database.connection,
      application_name: 'monitoring',
    });
    await monitoring.connect();
    const warnings: string[] = [];
    try {
      await expect(
        database.migrate(migration => migration.runPhase(4), {
          reporter: {
            ...silentReporter,
            warn: message => warnings.push(message),
          },
        }),
      ).resolves.toBe(true);
      expect(warnings).toEqual([
        expect.stringMatching(
          /^Sessions that bypass row-level security [^]*"monitoring", login [^]*has to name its tenant_id/,
        ),
      ]);
      const { rows } = await monitoring.query(
        'select count(*)::int as entities from tenancy.entities',
      );
      expect(rows[0].entities).toBeGreaterThan(0);
    } finally {
      await monitoring.end();
    }
  });

  it('does not mind the session of a command, which is the only one', async () => {
    // Keeps the command from its first change.
    await q('begin; lock table entities in access share mode');
    const names: string[] = [];
    const look = async () => {
      const { rows } = await database.client.query(
        `select application_name as name from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()
            and backend_type = 'client backend'`,
      );
      names.push(...rows.map(({ name }) => name));
      await q('commit');
    };
    let looked: Promise<void> | undefined;
    await database.migrate(migration => migration.runPhase(4), {
      reporter: {
        ...silentReporter,
        waiting: () => {
          looked ??= look();
        },
      },
    });
    await looked;
    expect(names).toEqual([expect.stringMatching(/^catalog-tenancy test /)]);
  });

  it('does not mind sessions that can not write to the tables', async () => {
    await q(`do $$ begin create role tenancy_reader login;
      exception when duplicate_object or unique_violation then null; end $$`);
    await q('grant catalog_report to tenancy_reader');
    await asLogin(database, 'tenancy_reader', async () => {
      await expect(phase4()).resolves.toBe(true);
    });
  });

  it('refuses rights of the application that policies do not govern, and gives others back', async () => {
    await q('grant all on entities to portal_app');
    await q('grant select on relations to portal_admin');
    await q('revoke delete on refresh_state from current_user');
    await expect(phase4()).rejects.toMatchObject(
      refused('revoke truncate on tenancy.entities from portal_app cascade'),
    );
    await q('revoke truncate, trigger, references on entities from portal_app');
    const before = await catalogSnapshot(database.client);
    await phase4();
    await undo();
    expect(await catalogSnapshot(database.client)).toEqual(before);
  });

  it.each([4, 5] as const)(
    'refuses to be undone after phase %s where a former owner was dropped, before it changes anything',
    async last => {
      const owner = `tenancy_former_${process.pid}`;
      await changeRole(database.client, `create role ${owner}`);
      await q(`alter table relations owner to ${owner}`);
      await database.migrate(migration => migration.runPhases(last));
      await q(`drop owned by ${owner}`);
      await changeRole(database.client, `drop role ${owner}`);
      const before = await catalogSnapshot(database.client);
      await expect(undo()).rejects.toMatchObject(
        refused(
          `create role ${owner};\nalter table relations owner to ${owner};`,
        ),
      );
      expect(await catalogSnapshot(database.client)).toEqual(before);
    },
  );

  it('leaves a sequence alone that defaults name and no column owns', async () => {
    await q(`create sequence numbers;
             alter table entities add column number int default nextval('numbers')`);
    const before = await catalogSnapshot(database.client);
    await phase4();
    await undo();
    expect(await catalogSnapshot(database.client)).toEqual(before);
  });

  it.each([
    [
      'a policy that lets everything through',
      'alter policy tenant_isolation on relations using (true)',
    ],
    [
      'row-level security that is disabled',
      'alter table relations disable row level security',
    ],
    [
      'a policy that hides rows',
      'alter policy tenant_isolation on relations using (false)',
    ],
  ])('finds %s', async (_, statement) => {
    await phase4();
    await q(statement);
    await expect(
      database.migrate(migration => verification.up(migration.context)),
    ).rejects.toMatchObject({ name: 'VerificationError', exitCode: 4 });
  });
});

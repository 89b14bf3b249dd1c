import { createTestDatabases } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { changeRole, connectionOf } from '../__testUtils__/roles';
import { silentReporter } from '../Reporter';
import { CancelledError, RefusedError } from '../errors';
import { swap } from '../phases/phase5_partitions/70_swap';
import { partitionedTables } from '../phases/phase5_partitions/10_partitioned_tables';
import { rollback } from '../rollback/rollback';
import { givePartition, takeBackPartition } from './move';
import { tenantPartition } from './names';
import {
  contents,
  countIn,
  describeTenants,
  OTHER,
  TEAM,
} from './__testUtils__/tenants';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('partition commands on %s', id => {
  const { database, give, takeBack, query } = describeTenants(databases, id);

  /** Ends a command as it is about to say something. */
  async function stopAt(message: RegExp, command = givePartition) {
    const stop = new Error('stopped');
    const reporter = {
      ...silentReporter,
      info: (text: string) => {
        if (message.test(text)) {
          throw stop;
        }
      },
    };
    await expect(
      database().migrate(({ context }) => command(context, 'my-team'), {
        reporter,
      }),
    ).rejects.toBe(stop);
  }

  /** Looks at what a dry run prints. */
  async function printScript(command: typeof givePartition) {
    let script = '';
    const before = await catalogSnapshot(database().client);
    await database().migrate(({ context }) => command(context, 'my-team'), {
      mode: 'dryRun',
      print: text => {
        script += text;
      },
    });
    await expect(catalogSnapshot(database().client)).resolves.toEqual(before);
    expect(script).toContain('entities_tenant_my_team');
  }

  it.each([
    ['nobody', /no tenant "nobody"/],
    ['Bad Slug', /lower-case letters, digits and hyphens/],
    ['default', /the default one/],
  ])('refuses %s', async (slug, message) => {
    await expect(give(slug)).rejects.toThrow(message);
    await expect(takeBack(slug)).rejects.toThrow(RefusedError);
  });

  it('gives a deleted tenant none, which has none to take back', async () => {
    await expect(give('gone')).rejects.toThrow(/is deleted/);
    await expect(takeBack('gone')).resolves.toEqual({ changed: false });
  });

  it('refuses where more than the three tables references entities', async () => {
    await query(`create table notes (tenant_id uuid, entity_id uuid,
      foreign key (tenant_id, entity_id) references entities on delete cascade)`);
    await expect(give()).rejects.toThrow(
      /notes_tenant_id_entity_id_fkey of notes/,
    );
  });

  it('changes nothing if it takes longer than it may', async () => {
    const before = await contents(database());
    const short = { maxBlockMs: 1 };
    await expect(
      database().migrate(({ context }) =>
        givePartition(context, 'my-team', short),
      ),
    ).rejects.toThrow(/more than 1 ms.*--max-block/);
    await expect(contents(database())).resolves.toEqual(before);
    await expect(countIn(database(), 'entities_catch_all', TEAM)).resolves.toBe(
      60,
    );
    await give();
    await expect(
      database().migrate(({ context }) =>
        takeBackPartition(context, 'my-team', short),
      ),
    ).rejects.toThrow(/more than 1 ms.*--max-block/);
    await expect(contents(database())).resolves.toEqual(before);
    await expect(
      countIn(database(), 'entities_tenant_my_team', TEAM),
    ).resolves.toBe(60);
  });

  it('changes nothing if somebody cancels it, and does not take that for a lack of time', async () => {
    await give();
    const before = await contents(database());
    const other = new Client(database().connection);
    await other.connect();
    await other.query(
      'begin; lock table tenancy.relations in access share mode',
    );
    let over = false;
    const moving = database()
      .migrate(({ context }) => takeBackPartition(context, 'my-team'), {
        settings: { maxPauseMs: 600_000 },
      })
      .finally(() => {
        over = true;
      });
    moving.catch(() => undefined);
    while (!over) {
      await query(
        `select pg_cancel_backend(pid) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      );
    }
    await other.end();
    await expect(moving).rejects.toThrow(CancelledError);
    await expect(contents(database())).resolves.toEqual(before);
  });

  it('goes on where it was stopped, with what was written since', async () => {
    await stopAt(/^Build/);
    await query(`delete from entities where tenant_id = '${TEAM}' and entity_name = 'part-9';
      update entities set hash = 'new' where tenant_id = '${TEAM}' and entity_name = 'part-8'`);
    const before = await contents(database());
    await give();
    await expect(contents(database())).resolves.toEqual(before);
    await expect(
      countIn(database(), 'entities_tenant_my_team', TEAM),
    ).resolves.toBe(59);
  });

  it('drops what was prepared for another tenant, or is taken back', async () => {
    const before = await catalogSnapshot(database().client);
    await stopAt(/^Build/);
    await give('other');
    await expect(
      countIn(database(), 'entities_tenant_my_team', TEAM),
    ).resolves.toBeNull();
    await expect(
      countIn(database(), 'entities_tenant_other', OTHER),
    ).resolves.toBe(60);
    await stopAt(/^Build/);
    await takeBack('other');
    await expect(takeBack()).resolves.toEqual({ changed: false });
    await expect(catalogSnapshot(database().client)).resolves.toEqual(before);
  });

  it.each([
    ['the copies are compared', /^Compare/, true],
    ['the copies are in their place', /: done/, false],
  ])('goes on from where %s', async (_moment, message, isToDo) => {
    const catalog = await catalogSnapshot(database().client);
    const before = await contents(database());
    await stopAt(message);
    await expect(give()).resolves.toMatchObject({ changed: isToDo });
    await expect(contents(database())).resolves.toEqual(before);
    await stopAt(message, takeBackPartition);
    await expect(takeBack()).resolves.toMatchObject({ changed: isToDo });
    await expect(contents(database())).resolves.toEqual(before);
    await expect(catalogSnapshot(database().client)).resolves.toEqual(catalog);
  });

  it('begins anew where the tables have changed since it was stopped', async () => {
    await stopAt(/^Compare/);
    await query(`alter table entities add column note text default 'none';
      create index on entities (tenant_id, note)`);
    await query(
      `update entities set note = 'mine' where tenant_id = '${TEAM}'`,
    );
    const before = await contents(database());
    await give();
    await expect(contents(database())).resolves.toEqual(before);
    await stopAt(/^Compare/, takeBackPartition);
    await query(`alter table relations_tenant_my_team disable trigger tenancy_partition_log;
      update relations set type = 'unseen' where tenant_id = '${TEAM}'`);
    const changed = await contents(database());
    await takeBack();
    await expect(contents(database())).resolves.toEqual(changed);
  });

  it('prints statements in a dry run, and changes nothing', async () => {
    await printScript(givePartition);
    await give();
    await printScript(takeBackPartition);
  });

  it('refuses outside of phase 5, which can be rolled back and run again', async () => {
    await give();
    await stopAt(/^Build/, context => givePartition(context, 'other'));
    const before = await contents(database());
    await database().migrate(migration => rollback(migration));
    await expect(give()).rejects.toThrow(/not in use/);
    await expect(takeBack()).rejects.toThrow(/not in use/);
    await database().migrate(migration => migration.runPhase(5));
    await expect(contents(database())).resolves.toEqual(before);
    await expect(give()).resolves.toMatchObject({ changed: false });
    await give('other');
    await expect(contents(database())).resolves.toEqual(before);
    await takeBack('other');
    await stopAt(/^Build/, context => givePartition(context, 'other'));
    await database().migrate(migration => migration.undoFrom(swap));
    await database().migrate(
      migration => migration.undoFrom(partitionedTables),
      {
        settings: { force: true },
      },
    );
    await expect(
      query(
        `select relname from pg_class where relname ~ 'my_team|other|catch_all|partition_log'`,
      ),
    ).resolves.toEqual([]);
  });

  it('waits for older snapshots of other logins, without any right to see them', async () => {
    const login = `tenancy_mover_${process.pid}`;
    await changeRole(database().client, `create role ${login} login`);
    await changeRole(database().client, `grant portal_admin to ${login}`);
    const old = new Client(database().connection);
    await old.connect();
    await old.query('begin isolation level repeatable read; select 1');
    let waited = false;
    await database().migrate(
      ({ context }) => givePartition(context, 'my-team'),
      {
        connection: await connectionOf(database(), login),
        reporter: {
          ...silentReporter,
          info: text => {
            if (/Waiting/.test(text)) {
              waited = true;
              old.query('commit');
            }
          },
        },
      },
    );
    expect(waited).toBe(true);
    await old.end();
    await changeRole(database().client, `drop role ${login}`);
  });
});

it('never gives two tenants one name, nor one that PostgreSQL would cut', () => {
  const long = 'a'.repeat(62);
  const names = ['a-b', 'a--b', `${long}b`, `${long}c`, 'a'.repeat(42)].map(
    slug => tenantPartition('refresh_state', slug),
  );
  expect(names[0]).toBe('refresh_state_tenant_a_b');
  expect(new Set(names).size).toBe(5);
  expect(Math.max(...names.map(name => name.length))).toBe(63);
});

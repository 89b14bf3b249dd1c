import { createTestDatabases } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { silentReporter } from '../Reporter';
import type { Reporter } from '../Reporter';
import { LockNotGrantedError, RefusedError } from '../errors';
import { readStatus } from '../status/readStatus';
import { renderStatus } from '../cli/commands/status';
import { assertVerified, verify } from '../verify/verify';
import { givePartition, takeBackPartition } from './move';
import type { MoveOptions } from './move';
import { dropUnfinishedMove } from './unfinishedMoves';
import {
  contents,
  countIn,
  describeTenants,
  TEAM,
} from './__testUtils__/tenants';

const databases = createTestDatabases({ versions: 'newest' });

const SOFT = `update tenants set deleted_at = now() where tenant_id = '${TEAM}'`;
const HARD = `delete from tenants where tenant_id = '${TEAM}'`;

describe.each(databases.eachSupportedId())('what a move leaves on %s', id => {
  const { database, give, takeBack, query } = describeTenants(databases, id);
  const catalog = () => catalogSnapshot(database().client);
  const status = () => database().migrate(readStatus, { mode: 'read' });

  async function run(
    command: typeof givePartition,
    options: MoveOptions = {},
    reporter: Partial<Reporter> = {},
  ): Promise<unknown> {
    return database().migrate(
      ({ context }) => command(context, 'my-team', options),
      { reporter: { ...silentReporter, ...reporter } },
    );
  }

  /** Ends a command as it is about to say something. */
  async function stopAt(message: RegExp, command = givePartition) {
    const stop = new Error('stopped');
    const info = (text: string) => {
      if (message.test(text)) {
        throw stop;
      }
    };
    await expect(run(command, {}, { info })).rejects.toBe(stop);
  }

  /** Does something once a command says something, and lets it go on then. */
  async function runWith(
    command: typeof givePartition,
    message: RegExp,
    work: (client: Client) => Promise<unknown>,
  ): Promise<unknown> {
    // The command waits for this one, as for any that is older.
    const older = new Client(database().connection);
    await older.connect();
    await older.query('begin isolation level repeatable read; select 1');
    let worked: Promise<unknown> | undefined;
    const info = (text: string) => {
      if (message.test(text)) {
        worked ??= work(older).finally(() => older.end());
      }
    };
    try {
      return await run(command, {}, { info });
    } finally {
      await worked;
    }
  }

  describe.each([
    ['deleted', SOFT, /is deleted/],
    ['gone', HARD, /no tenant "my-team"/],
  ])('of a tenant that is %s', (_state, remove, refusal) => {
    it.each([/^Build/, /^Compare/])(
      'is dropped by either command, stopped at %s',
      async message => {
        const before = await catalog();
        await stopAt(message);
        await query(remove);
        await expect(give()).rejects.toThrow(refusal);
        await expect(catalog()).resolves.toEqual(before);
        await query(
          `insert into tenants (tenant_id, tenant_slug, tenant_name) values ('${TEAM}', 'my-team', 'My team')
           on conflict (tenant_id) do update set deleted_at = null`,
        );
        await stopAt(message);
        await query(remove);
        await expect(takeBack()).resolves.toEqual({ changed: false });
        await expect(catalog()).resolves.toEqual(before);
      },
    );

    it('is nothing where that comes in between', async () => {
      const before = await catalog();
      await expect(
        runWith(givePartition, /^Waiting/, () => query(remove)),
      ).rejects.toThrow(/"my-team" was deleted meanwhile/);
      await expect(catalog()).resolves.toEqual(before);
    });

    it('is nothing once its partitions were taken back meanwhile', async () => {
      const before = await catalog();
      await give();
      await expect(
        runWith(takeBackPartition, /^Waiting/, () => query(remove)),
      ).resolves.toMatchObject({ changed: true });
      await expect(catalog()).resolves.toEqual(before);
    });

    it('is taken back afterwards, too', async () => {
      const before = await catalog();
      await give();
      await query(remove);
      const rows = await contents(database());
      await expect(takeBack()).resolves.toMatchObject({ changed: true });
      await expect(contents(database())).resolves.toEqual(rows);
      await expect(catalog()).resolves.toEqual(before);
    });
  });

  it.each([
    ['gives partitions', givePartition],
    ['takes them back', takeBackPartition],
  ])(
    'is nothing where a command that %s gives up, because of a lock or of an older transaction',
    async (_what, command) => {
      if (command === takeBackPartition) {
        await give();
      }
      const before = [await catalog(), await contents(database())];
      const other = new Client(database().connection);
      await other.connect();
      // Held without a pause, as by writers whose transactions overlap.
      await other.query(
        'begin; lock table only tenancy.refresh_state in row exclusive mode',
      );
      await expect(run(command, { patienceMs: 1 })).rejects.toThrow(
        LockNotGrantedError,
      );
      await expect(catalog()).resolves.toEqual(before[0]);
      await other.query('rollback');
      await other.query('begin isolation level repeatable read; select 1');
      await expect(run(command, { patienceMs: 1 })).rejects.toThrow(
        /open for another 0s: those of the processes \d+/,
      );
      await other.end();
      await expect([await catalog(), await contents(database())]).toEqual(
        before,
      );
    },
  );

  it('does nothing where its triggers can not be dropped yet, and goes later', async () => {
    const before = await catalog();
    const warnings: string[] = [];
    const other = new Client(database().connection);
    await other.connect();
    await other.query('begin isolation level repeatable read');
    const info = (text: string) => {
      // Reads from here on, which keeps triggers from being dropped.
      if (/^Compare/.test(text)) {
        other.query('select from tenancy.entities_catch_all');
      }
    };
    await expect(
      run(
        givePartition,
        { patienceMs: 1, undoPatienceMs: 1 },
        { info, warn: text => warnings.push(text) },
      ),
    ).rejects.toThrow(LockNotGrantedError);
    expect(warnings).toEqual([expect.stringMatching(/unpartition my-team/)]);
    await expect(
      query(`select to_regclass('entities_tenant_my_team') as copy,
                    to_regclass('tenancy_partition_log') as log`),
    ).resolves.toEqual([{ copy: null, log: null }]);
    await query(`update entities set hash = 'new' where tenant_id = '${TEAM}'`);
    expect((await status()).moves).toMatchObject([{ slug: 'my-team' }]);
    await other.end();
    await expect(takeBack()).resolves.toEqual({ changed: false });
    await expect(catalog()).resolves.toEqual(before);
    expect((await status()).moves).toEqual([]);
  });

  it('is said by the status, with the commands that go on or drop it', async () => {
    expect((await status()).moves).toEqual([]);
    await stopAt(/^Compare/);
    assertVerified(
      await database().migrate(verify, {
        mode: 'read',
      }),
    );
    expect((await status()).moves).toEqual([
      {
        slug: 'my-team',
        what: expect.stringMatching(
          /was being given partitions.*entities_tenant_my_team.*6 triggers.*written twice/,
        ),
        goOn: expect.stringMatching(/ partition my-team$/),
        drop: expect.stringMatching(/ unpartition my-team$/),
      },
    ]);
    const text = renderStatus(await status());
    expect(text).toMatch(/The move of "my-team" has not come to its end/);
    expect(text).toMatch(/Go on: .* partition my-team/);
    expect(text).toMatch(/Drop it: .* unpartition my-team/);
    await query(SOFT);
    expect((await status()).moves).toMatchObject([{ goOn: null }]);
    expect(renderStatus(await status())).not.toContain('Go on:');
    await takeBack();
    expect((await status()).moves).toEqual([]);
    await query(SOFT.replace('now()', 'null'));
    await stopAt(/: done/);
    expect((await status()).moves).toMatchObject([
      { what: expect.stringMatching(/is done.*entities_catch_all_last/) },
    ]);
    await give();
    await query(HARD);
    expect((await status()).moves).toMatchObject([
      {
        slug: 'my-team',
        what: expect.stringMatching(/is gone.*entities_tenant_my_team/),
        goOn: null,
        drop: expect.stringMatching(/ unpartition my-team$/),
      },
    ]);
    await takeBack();
    await expect(
      countIn(database(), 'entities_tenant_my_team', TEAM),
    ).resolves.toBeNull();
  });

  it('of another tenant is not touched by a slug that is mistyped', async () => {
    await stopAt(/^Build/);
    await expect(give('my-taem')).rejects.toThrow(RefusedError);
    await expect(takeBack('my-taem')).rejects.toThrow(RefusedError);
    await expect(
      countIn(database(), 'entities_tenant_my_team', TEAM),
    ).resolves.toBe(60);
  });

  const OWN_FUNCTION = `returns trigger language plpgsql as 'begin return null; end'`;
  const TAKEN: Record<string, string> = {
    'relation entities_tenant_my_team':
      'create view entities_tenant_my_team as select 1 as mine',
    'relation relations_catch_all_next':
      'create table relations_catch_all_next (mine int)',
    'relation entities_catch_all_last':
      'create table entities_catch_all_last (mine int)',
    'relation entities_catch_all_last_tenant_id_entity_ref_key':
      'create sequence entities_catch_all_last_tenant_id_entity_ref_key',
    'relation entities_tenant_my_team_pkey':
      'create table entities_tenant_my_team_pkey (mine int)',
    'relation tenancy_partition_log':
      'create table tenancy_partition_log (mine int)',
    'function tenancy_replay_partition()':
      'create function tenancy_replay_partition() returns int language sql return 1',
    'function tenancy_partition_log_entities()': `create function tenancy_partition_log_entities() ${OWN_FUNCTION}`,
    'trigger tenancy_partition_log of relations_catch_all': `create function mine() ${OWN_FUNCTION};
      create trigger tenancy_partition_log after delete on relations_catch_all execute function mine()`,
    'trigger tenancy_partition_log_truncate of refresh_state_catch_all': `create function mine() ${OWN_FUNCTION};
      create trigger tenancy_partition_log_truncate after truncate on refresh_state_catch_all execute function mine()`,
  };

  it.each(Object.entries(TAKEN))(
    'is nothing where the %s was there before, which stays',
    async (what, create) => {
      await query(create);
      const before = [await catalog(), await contents(database())];
      await expect(give()).rejects.toThrow(
        new RegExp(
          `did not create the ${what.replace(/[()]/g, '.')}, and needs`,
        ),
      );
      await expect([await catalog(), await contents(database())]).toEqual(
        before,
      );
      expect((await status()).moves).toEqual([]);
    },
  );

  const REPLACED: [string, RegExp, string, string][] = [
    [
      'relation relations_catch_all_next',
      /^Build/,
      'drop table relations_catch_all_next; create table relations_catch_all_next (mine int)',
      'alter table relations_catch_all_next rename to mine',
    ],
    [
      'relation refresh_state_tenant_my_team',
      /^Compare/,
      `drop table refresh_state_tenant_my_team;
       create table refresh_state_tenant_my_team (mine int)`,
      'alter table refresh_state_tenant_my_team rename to mine',
    ],
    [
      'function tenancy_replay_partition()',
      /^Build/,
      `drop function tenancy_replay_partition();
       create function tenancy_replay_partition() returns int language sql return 1`,
      'alter function tenancy_replay_partition() rename to mine',
    ],
    [
      'trigger tenancy_partition_log of relations_catch_all',
      /^Build/,
      `drop trigger tenancy_partition_log on relations_catch_all;
       create function mine() ${OWN_FUNCTION};
       create trigger tenancy_partition_log after update on relations_catch_all
         for each row execute function mine()`,
      'drop trigger tenancy_partition_log on relations_catch_all',
    ],
    [
      'relation entities_catch_all_last',
      /: done/,
      'drop table entities_catch_all_last; create table entities_catch_all_last (mine int)',
      'alter table entities_catch_all_last rename to mine',
    ],
  ];

  it.each(REPLACED)(
    'never takes along the %s of somebody else, which came meanwhile',
    async (what, message, replace, rename) => {
      await stopAt(message);
      await query(replace);
      const before = [await catalog(), await contents(database())];
      const refusal = new RegExp(
        `did not create the ${what.replace(/[()]/g, '.')}`,
      );
      await expect(give()).rejects.toThrow(refusal);
      await expect(
        database().migrate(({ context }) => dropUnfinishedMove(context)),
      ).rejects.toThrow(refusal);
      await expect(takeBack()).rejects.toThrow(refusal);
      await expect([await catalog(), await contents(database())]).toEqual(
        before,
      );
      await query(rename);
      await give();
      await takeBack();
      expect((await status()).moves).toEqual([]);
      // A table or a function of that name.
      expect(JSON.stringify(await catalog())).toMatch(/\bmine\b/);
    },
  );

  it('goes on and is dropped in a database that was restored, with other ids', async () => {
    const before = await catalog();
    const restore = () =>
      query(`update tenancy_migration_state
                set value = value || '{"journal": "1", "known": ["relation 1"]}'
              where key in ('objects', 'partition:preparation')`);
    await stopAt(/^Compare/);
    await restore();
    await give();
    await stopAt(/^Compare/, takeBackPartition);
    await restore();
    await give();
    await takeBack();
    await expect(catalog()).resolves.toEqual(before);
  });
});

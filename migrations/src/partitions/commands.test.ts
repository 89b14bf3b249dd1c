import {
  createTestDatabases,
  waitUntil,
  withClient,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { catalogSnapshot } from '../__testUtils__/catalogSnapshot';
import { CancelledError, ConnectionLostError, EXIT_CODES } from '../errors';
import { givePartition, takeBackPartition } from './move';
import { tenantPartition } from './tenantPartition';
import { contents, describeTenants } from './__testUtils__/tenants';

const databases = createTestDatabases();
const COMMANDS = { give: givePartition, takeBack: takeBackPartition };
const DIRECTIONS = ['give', 'takeBack'] as const;

// When the last statement of a move has run.
const DONE = {
  give: `exists (select from pg_class where relname = 'refresh_state_tenant_my_team' and relispartition)`,
  takeBack: `not exists (select from pg_class where relname = 'entities_tenant_my_team')`,
};

/** A move stops at its end until the lock is free, for which no timeout of locks counts. */
const stopWhen = (isDone: string) => `
  create function public.stop() returns event_trigger language plpgsql
    set lock_timeout = 0 as $$
  begin
    if ${isDone} then
      perform pg_advisory_xact_lock_shared(1);
    end if;
  end $$;
  create event trigger stop on ddl_command_end when tag in ('ALTER TABLE', 'DROP TABLE')
    execute function public.stop()`;

// The strongest lock that a session has of each table that was there before.
const LOCKS = `
  select l.relation::regclass::text as name, min(l.mode) as mode
    from pg_locks l join pg_class c on c.oid = l.relation
   where l.pid = $1 and l.mode in ('ShareRowExclusiveLock', 'AccessExclusiveLock')
     and (c.relkind = 'p' or c.relname = 'tenants')
   group by 1 order by 1`;

describe.each(databases.eachSupportedId())('partition commands on %s', id => {
  const { database, give, takeBack, query } = describeTenants(databases, id);

  const state = async () => ({
    rows: await contents(database),
    catalog: await catalogSnapshot(database.client),
  });

  /** Acts while a command is in the middle of its move, which then goes on. */
  async function whileMoving(
    command: keyof typeof COMMANDS,
    act: (pid: number, client: Client) => Promise<unknown>,
    maxBlockMs = 600_000,
  ): Promise<unknown> {
    return withClient(database.connection, async client => {
      await client.query(
        'set search_path = tenancy; select pg_advisory_lock(1)',
      );
      const moving = database
        .migrate(({ context }) =>
          COMMANDS[command](context, 'my-team', { maxBlockMs }),
        )
        .catch(error => error);
      let ended: unknown;
      moving.then(outcome => {
        ended = outcome;
      });
      const pid = await waitUntil('the move to be under way', async () => {
        if (ended) {
          throw ended;
        }
        const { rows } = await client.query(
          `select pid from pg_locks where locktype = 'advisory' and objid = 1 and not granted
              and database = (select oid from pg_database where datname = current_database())`,
        );
        return rows[0]?.pid;
      });
      await act(pid, client);
      await client.query('select pg_advisory_unlock(1)');
      return await moving;
    });
  }

  describe('refuse', () => {
    it.each([
      ['nobody', /no tenant "nobody"/],
      ['Bad Slug', /no tenant "Bad Slug"/],
      ['default', /the default one/],
    ])('the tenant %s', async (slug, message) => {
      await expect(give(slug)).rejects.toThrow(message);
      await expect(takeBack(slug)).rejects.toMatchObject({
        exitCode: EXIT_CODES.refused,
      });
    });

    it('to give a deleted tenant a partition', async () => {
      await expect(give('gone')).rejects.toThrow(/is deleted/);
      await expect(takeBack('gone')).resolves.toEqual({ changed: false });
    });

    it.each([
      [
        `create table relations_tenant_my_team (mine int)`,
        /taken: relation "relations_tenant_my_team" already exists/,
      ],
      [
        `create type entities_tenant_my_team as enum ('mine')`,
        /taken: type "entities_tenant_my_team" already exists/,
      ],
      [
        `create table notes (tenant_id uuid, entity_id uuid,
           foreign key (tenant_id, entity_id) references entities on delete cascade)`,
        /notes_tenant_id_entity_id_fkey on table notes/,
      ],
      [
        `create function mine() returns trigger language plpgsql as 'begin return null; end';
         create trigger mine after delete on relations for each row execute function mine()`,
        /trigger mine on table relations/,
      ],
      [
        `create view mine as select * from entities_catch_all`,
        /drop view tenancy\.mine;/,
      ],
      [
        `create publication mine for table entities`,
        /publication of table entities in publication mine/,
      ],
      [
        `grant select on relations_catch_all to public`,
        /the right SELECT of public on relations_catch_all/,
      ],
    ])('what they would break: %s', async (statement, message) => {
      await query(statement);
      const before = await state();
      const failed = await give().catch(error => error);
      expect(failed.message).toMatch(message);
      expect(failed.exitCode).toBe(EXIT_CODES.refused);
      await expect(state()).resolves.toEqual(before);
    });

    it.each(DIRECTIONS)(
      'to block for longer than they may, before they begin: %s',
      async direction => {
        if (direction === 'takeBack') {
          await give();
        }
        const before = await state();
        // In its way: a move that began would wait for it.
        const reader = new Client(database.connection);
        await reader.connect();
        await reader.query(
          'begin; lock table tenancy.entities in access share mode',
        );
        await expect(
          database.migrate(({ context }) =>
            COMMANDS[direction](context, 'my-team', { maxBlockMs: 1 }),
          ),
        ).rejects.toThrow(/240 rows .* about \d.* --max-block \d+000/);
        await reader.end();
        await expect(state()).resolves.toEqual(before);
      },
    );
  });

  describe.each(DIRECTIONS)('in the middle of %s', direction => {
    const act = (
      work: Parameters<typeof whileMoving>[1],
      maxBlockMs?: number,
    ) => whileMoving(direction, work, maxBlockMs);

    beforeEach(async () => {
      if (direction === 'takeBack') {
        await give();
      }
      await query(stopWhen(DONE[direction]));
    });

    it('lock the tables as they say', async () => {
      const mode =
        direction === 'give' ? 'SHARE ROW EXCLUSIVE' : 'ACCESS EXCLUSIVE';
      const printed: string[] = [];
      await database.migrate(
        ({ context }) => COMMANDS[direction](context, 'my-team'),
        { mode: 'dryRun', print: text => printed.push(text) },
      );
      expect(printed.join()).toContain(
        `ACCESS EXCLUSIVE on entities, relations, refresh_state and their partitions, ${mode} on tenants,`,
      );
      await act(async (pid, client) => {
        const { rows } = await client.query(LOCKS, [pid]);
        expect(rows).toEqual([
          { name: 'entities', mode: 'AccessExclusiveLock' },
          { name: 'refresh_state', mode: 'AccessExclusiveLock' },
          { name: 'relations', mode: 'AccessExclusiveLock' },
          {
            name: 'tenants',
            mode:
              direction === 'give'
                ? 'ShareRowExclusiveLock'
                : 'AccessExclusiveLock',
          },
        ]);
      });
    });

    it('are rolled back when the time is over', async () => {
      const before = await state();
      const failed: any = await act(async (pid, client) => {
        await waitUntil('the move to be given up', async () => {
          const { rows } = await client.query(
            `select from pg_locks where pid = $1 and mode = 'AccessExclusiveLock'`,
            [pid],
          );
          return rows.length === 0;
        });
      }, 5_000);
      expect(failed.message).toMatch(/longer than 5.0 s.* --max-block 10000/);
      expect(failed.exitCode).toBe(EXIT_CODES.refused);
      await expect(state()).resolves.toEqual(before);
    });

    it.each([
      ['cancelled', 'pg_cancel_backend', CancelledError],
      ['killed', 'pg_terminate_backend', ConnectionLostError],
    ])('leave nothing behind when they are %s', async (_how, end, error) => {
      const before = await state();
      await expect(
        act((pid, client) => client.query(`select ${end}($1)`, [pid])),
      ).resolves.toBeInstanceOf(error);
      await expect(state()).resolves.toEqual(before);
      await query('drop event trigger stop');
      await expect(
        direction === 'give' ? give() : takeBack(),
      ).resolves.toMatchObject({ changed: true });
      await expect(contents(database)).resolves.toEqual(before.rows);
    });
  });

  it('shorten long slugs to names that differ', () => {
    const long = 'a-'.repeat(30);
    const names = [`${long}b`, `${long}c`].map(slug =>
      tenantPartition('refresh_state', slug),
    );
    expect(new Set(names).size).toBe(2);
    expect(names.map(name => name.length)).toEqual([63, 63]);
  });
});

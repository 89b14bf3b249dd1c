import {
  createTestDatabases,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { CatalogDatabase } from '../../../__testUtils__/catalogDatabase';
import { catalogSnapshot } from '../../../__testUtils__/catalogSnapshot';
import { catalogTemplate } from '../../../__testUtils__/catalogTemplate';
import { asLogin } from '../../../__testUtils__/roles';
import { stopBefore } from '../../../__testUtils__/stopBefore';
import { silentReporter } from '../../../Reporter';
import type { Reporter } from '../../../Reporter';
import { rollback } from '../../../rollback/rollback';
import { readStatus } from '../../../status/readStatus';
import { faultsOf } from './__testUtils__/faults';
import { entityParents, entityTermsFill } from './index';

const databases = createTestDatabases();
const ENTITIES = 60;
// Every 20th is deleted.
const LIVE = 57;

describe.each(databases.eachSupportedId())(
  'the step that fills entity_terms on %s',
  id => {
    const beforeFill = catalogTemplate(databases, id, {
      entities: ENTITIES,
      phase: 4,
      prepare: async prepared => {
        await stopBefore(prepared, 5, entityTermsFill);
      },
    });
    let database: CatalogDatabase;
    beforeEach(async () => {
      database = await beforeFill();
    });
    afterEach(() => database.close());

    const runPhase5 = (
      options: Parameters<CatalogDatabase['migrate']>[1] = {},
    ) => database.migrate(migration => migration.runPhase(5), options);

    async function entitiesWithTerms(): Promise<number> {
      const { rows } = await database.client.query<{ count: number }>(
        'select count(distinct entity_id)::int as count from entity_terms',
      );
      return rows[0].count;
    }

    it('gives the entities their terms that were there before', async () => {
      await expect(entitiesWithTerms()).resolves.toBe(0);
      expect(await faultsOf(database)).toHaveLength(1);
      await runPhase5();
      await expect(entitiesWithTerms()).resolves.toBe(LIVE);
      await expect(faultsOf(database)).resolves.toEqual([]);
    });

    /** Stops phase 5 at a message, as a kill does, or lets it come to its end. */
    async function stopAt(beginning: string): Promise<void> {
      const stop = new Error('stopped');
      const reporter: Reporter = {
        ...silentReporter,
        info: message => {
          if (message.startsWith(beginning)) {
            throw stop;
          }
        },
      };
      await expect(runPhase5({ reporter })).rejects.toBe(stop);
    }

    async function connect(): Promise<Client> {
      const client = new Client(database.connection);
      await client.connect();
      await client.query('set search_path = tenancy');
      return client;
    }

    async function rowVersions(): Promise<Record<string, string>> {
      const { rows } = await database.client.query<{
        name: string;
        version: string;
      }>('select entity_name as name, xmin::text as version from entities');
      return Object.fromEntries(
        rows.map(({ name, version }) => [name, version]),
      );
    }

    it('goes on where it was stopped', async () => {
      const stop = new Error('stopped');
      let filled = 0;
      const stopping: Reporter = {
        ...silentReporter,
        progress: () => ({
          advance: rows => {
            filled += rows;
            if (filled >= 8) {
              throw stop;
            }
          },
          finish: () => undefined,
        }),
      };
      await expect(runPhase5({ reporter: stopping })).rejects.toBe(stop);
      // Twenty entities in a batch.
      expect(filled).toBe(20);
      const before = await entitiesWithTerms();
      expect(before).toBeGreaterThan(0);
      expect(before).toBeLessThanOrEqual(filled);
      let more = 0;
      await runPhase5({
        reporter: {
          ...silentReporter,
          progress: () => ({
            advance: rows => {
              more += rows;
            },
            finish: () => undefined,
          }),
        },
      });
      expect(filled + more).toBe(ENTITIES);
      await expect(faultsOf(database)).resolves.toEqual([]);
    });

    it('goes on where the server has killed all the sessions that share the work', async () => {
      const { client } = database;
      await client.query(`
        insert into tenants (tenant_slug, tenant_name)
        select 't' || n, 't' || n from generate_series(1, 5) n;
        insert into entities (tenant_id, entity_ref, entity_kind, entity_namespace, entity_name, final_entity, hash)
        select t.tenant_id, entity_ref, entity_kind, entity_namespace, entity_name, final_entity, ''
          from entities e, tenants t where t.tenant_slug ~ '^t[1-5]$' and e.deleted_at is null`);
      const blocking = await connect();
      const sessions = `pg_stat_activity where datname = current_database()
          and wait_event_type = 'Lock' and query like '%entity_terms_fill%' and pid <> pg_backend_pid()`;
      let blocked: Promise<unknown> | undefined;
      let filled = 0;
      const killed = runPhase5({
        reporter: {
          ...silentReporter,
          progress: () => ({
            advance: rows => {
              filled += rows;
              blocked ??= blocking.query(
                'begin; lock table entity_terms in access exclusive mode',
              );
            },
            finish: () => undefined,
          }),
        },
      }).catch(error => error);
      try {
        await waitUntil('several sessions at work', async () => {
          const { rows } = await client.query<{ count: number }>(
            `select count(*)::int as count from ${sessions}`,
          );
          return rows[0].count > 1;
        });
        await blocked;
        await client.query(`select pg_terminate_backend(pid) from ${sessions}`);
        await blocking.query('rollback');
        await expect(withDeadline('the end', killed)).resolves.toMatchObject({
          name: 'ConnectionLostError',
        });
      } finally {
        await blocking.end();
      }
      const before = await entitiesWithTerms();
      expect(before).toBeGreaterThan(0);
      expect(before).toBeLessThan(6 * LIVE);
      let more = 0;
      await runPhase5({
        reporter: {
          ...silentReporter,
          progress: () => ({
            advance: rows => {
              more += rows;
            },
            finish: () => undefined,
          }),
        },
      });
      expect(filled + more).toBe(ENTITIES + 5 * LIVE);
      await expect(entitiesWithTerms()).resolves.toBe(6 * LIVE);
      await expect(faultsOf(database)).resolves.toEqual([]);
    });

    it('lets the application call none of its functions', async () => {
      await stopAt('Index 1 of 4');
      await asLogin(database, 'portal_app', async client => {
        for (const call of [
          'entity_terms_fill(gen_random_uuid(), null, gen_random_uuid(), 1)',
          `entity_terms_catch_up(gen_random_uuid(), '{}')`,
        ]) {
          await expect(client.query(`select ${call}`)).rejects.toThrow(
            /permission denied for function entity_terms_/,
          );
        }
      });
    });

    it('neither locks rows nor fires at what writers do while it writes terms', async () => {
      const { client } = database;
      await client.query(`set lock_timeout = '20s'; begin;
        update entities set hash = 'open' where entity_name = 'service-1'`);
      await stopAt('Index 1 of 4');
      await client.query('rollback');
      await expect(entitiesWithTerms()).resolves.toBe(LIVE);
      const { rows } = await client.query(
        `select tgname from pg_trigger where tgrelid = 'entities'::regclass and tgname like 'entity_terms%'`,
      );
      expect(rows).toEqual([]);
    });

    it.each(['Index 1 of 4', 'Follow the changes'])(
      'follows what was changed meanwhile, without a new version of an entity: up to "%s"',
      async moment => {
        const { client } = database;
        await stopAt(moment);
        await client.query(`
          update entities set final_entity = jsonb_set(final_entity, '{kind}', '"API"') where entity_name = 'service-1';
          delete from entities where entity_name = 'service-2';
          update entities set deleted_at = now() where entity_name = 'service-3';
          update entities set deleted_at = null where entity_name = 'service-20';
          update entities set final_entity = '{"spec": null}' where entity_name = 'service-4';
          insert into entities (tenant_id, entity_ref, entity_kind, entity_namespace, entity_name, final_entity, hash)
          select tenant_id, 'component:default/new', 'component', 'default', 'new', final_entity, ''
            from entities where entity_name = 'service-5';
          delete from refresh_state where entity_id in (select entity_id from entities where entity_name = 'service-6');
          delete from relations where originating_entity_id in (select entity_id from entities where entity_name = 'service-6');
          update entities set entity_id = gen_random_uuid() where entity_name = 'service-6'`);
        await client.query(`begin;
          update entities set final_entity = '{}' where entity_name = 'service-7'; rollback`);
        const before = await rowVersions();
        await runPhase5();
        await expect(faultsOf(database)).resolves.toEqual([]);
        await expect(entitiesWithTerms()).resolves.toBe(LIVE);
        await expect(rowVersions()).resolves.toEqual(before);
      },
    );

    it('mends the terms of a row that was locked when it followed', async () => {
      await stopAt('Index 1 of 4');
      await database.client.query(
        `update entities set final_entity = '{"spec": 1}' where entity_name = 'service-1'`,
      );
      const before = await rowVersions();
      const locking = await connect();
      try {
        await locking.query(
          `begin; select from entities where entity_name = 'service-1' for update`,
        );
        let release: () => void = () => undefined;
        const waited = new Promise<void>(resolve => {
          release = resolve;
        });
        const phase = runPhase5({
          reporter: {
            ...silentReporter,
            waiting: what => {
              if (what.startsWith('Repair the terms of the entity')) {
                release();
              }
            },
          },
        });
        await withDeadline('the lock', Promise.race([waited, phase]));
        expect(await faultsOf(database)).toHaveLength(1);
        await locking.query('rollback');
        await phase;
      } finally {
        await locking.end();
      }
      await expect(faultsOf(database)).resolves.toEqual([]);
      const { 'service-1': mended, ...others } = await rowVersions();
      expect({ ...others, 'service-1': before['service-1'] }).toEqual(before);
      expect(mended).not.toBe(before['service-1']);
    });

    it('leaves no term of what was changed meanwhile, by whatever snapshot', async () => {
      const others = await Promise.all([1, 2, 3].map(connect));
      const [deleting, renaming, writing] = others;
      const snapshot =
        'begin isolation level repeatable read; select count(*) from entity_terms';
      try {
        for (const client of others) {
          await client.query(snapshot);
        }
        let goOn: () => void = () => undefined;
        const filled = new Promise<void>(resolve => {
          goOn = resolve;
        });
        const phase = runPhase5({
          reporter: {
            ...silentReporter,
            info: message => {
              if (message.startsWith('Waiting for the transactions')) {
                goOn();
              }
            },
          },
        });
        await withDeadline('the fill', Promise.race([filled, phase]));
        await expect(entitiesWithTerms()).resolves.toBe(LIVE);
        // Their snapshots do not show what was filled.
        await deleting.query(
          `delete from entities where entity_name = 'service-2'; commit`,
        );
        await renaming.query(
          `update entities set final_entity = final_entity, deleted_at = now()
            where entity_name = 'service-3'; commit`,
        );
        await expect(
          writing.query(
            `update entities set final_entity = jsonb_set(final_entity, '{kind}', '"API"')
              where entity_name = 'service-4'`,
          ),
        ).rejects.toMatchObject({ code: '40001' });
        await writing.query('rollback');
        await phase;
      } finally {
        await Promise.all(others.map(client => client.end()));
      }
      await expect(entitiesWithTerms()).resolves.toBe(LIVE - 2);
      await expect(faultsOf(database)).resolves.toEqual([]);
    });

    // As they come with a copy of the database, and from an earlier version.
    it.each([
      ['of another database', { since: '3', table: '1' }],
      [
        'from before a number of a transaction that is to come',
        { since: '4000000000' },
      ],
      ['that goes by tenants', { tenant: null, after: null }],
    ])(
      'begins anew where it finds what is left of a fill %s',
      async (_, left) => {
        const { client } = database;
        await stopAt('Follow the changes');
        await client.query(
          `insert into tenancy_migration_state (key, value)
         select 'phase5.search', jsonb_build_object('table', 'entities'::regclass::oid::text) || $1
             on conflict (key) do update set value = excluded.value`,
          [left],
        );
        // Nobody knows when.
        await client.query(`
        alter table entities disable trigger user;
        update entities set final_entity = '{"spec": 1}' where entity_name = 'service-1';
        alter table entities enable always trigger entity_terms_update`);
        await runPhase5();
        await expect(faultsOf(database)).resolves.toEqual([]);
      },
    );

    it('is undone and done again, and a rollback leaves nothing of it', async () => {
      await runPhase5();
      const before = await catalogSnapshot(database.client);
      await database.migrate(migration => migration.undoFrom(entityParents));
      const undone = JSON.stringify(await catalogSnapshot(database.client));
      expect(undone).not.toMatch(/entity_terms|entity_parents/);
      await runPhase5();
      await expect(catalogSnapshot(database.client)).resolves.toEqual(before);
      await database.migrate(migration => rollback(migration));
      const back = JSON.stringify(await catalogSnapshot(database.client));
      expect(back).not.toMatch(/entity_terms|entity_parents/);
      await runPhase5();
      await expect(entitiesWithTerms()).resolves.toBe(LIVE);
      await expect(faultsOf(database)).resolves.toEqual([]);
    });

    it('is what remains to be done where it alone is missing', async () => {
      await database.migrate(migration => migration.undoFrom(entityParents));
      // As the smoke tests of phase 6 leave it.
      await database.client.query(
        `insert into tenancy_migrations (name, batch, migration_time)
         values ('6_10_smoke_tests', 1, now())`,
      );
      const status = await database.migrate(readStatus, { mode: 'read' });
      expect(status.next.command).toBe(
        'npx backstage-catalog-tenancy-cli phase5',
      );
      await runPhase5();
      await expect(faultsOf(database)).resolves.toEqual([]);
      await expect(
        database.migrate(readStatus, { mode: 'read' }),
      ).resolves.toMatchObject({ phase: 6 });
    });
  },
);

import {
  changeRole,
  createTestDatabases,
  withClient,
} from '@internal/postgres/testUtils';
import type { Client } from 'pg';
import { forEachTest } from '../../__testUtils__/forEachTest';
import { createCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import { asLogin, connectionOf } from '../../__testUtils__/roles';
import { stopBefore } from '../../__testUtils__/stopBefore';
import { silentReporter } from '../../Reporter';
import { describeSessions } from '../../session/describeSessions';
import { rollback } from '../../rollback/rollback';
import { swap } from './70_swap';
import { ready } from './97_mark_ready';

const databases = createTestDatabases();
const TENANT = '00000000-0000-0000-0000-000000000001';
const OTHER = '00000000-0000-0000-0000-0000000000aa';

describe.each(databases.eachSupportedId())('the swap on %s', id => {
  const database = forEachTest(() =>
    createCatalogDatabase(databases, id, {
      entities: 60,
      phase: 4,
    }),
  );

  const query = async (sql: string) => (await database.client.query(sql)).rows;
  const runPhase5 = () => database.migrate(migration => migration.runPhase(5));

  /** All rows of the three tables, whatever they are called. */
  async function contents(suffix = '', where = 'true') {
    const tables: Record<string, string[]> = {};
    for (const table of ['entities', 'relations', 'refresh_state']) {
      const rows = await query(
        `select t::text as row from ${table}${suffix} t where ${where} order by 1`,
      );
      tables[table] = rows.map(({ row }) => row);
    }
    return tables;
  }

  const CHANGES = `
    insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
    select '${TENANT}', 'api:default/new-' || i, 'api', 'new-' || i, '{"n": 1e400}', ''
      from generate_series(1, 5) i;
    update entities set hash = 'changed' where entity_name like '%-3%';
    update entities set entity_ref = 'component:default/parked', entity_name = 'parked'
     where entity_name = 'service-1';
    update entities set entity_ref = 'component:default/service-1', entity_name = 'service-1'
     where entity_name = 'service-2';
    update entities set entity_ref = 'component:default/service-2', entity_name = 'service-2'
     where entity_name = 'parked';
    delete from entities where entity_name in ('service-8', 'service-9');
    delete from relations where source_entity_ref like '%-5' and type = 'ownedBy';
    insert into relations (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
    select tenant_id, entity_id, entity_ref, 'twice', 'a:b/c'
      from entities, generate_series(1, 2) where entity_name = 'service-11';
    update refresh_state set errors = '["x"]' where location_key like '%-4%';`;

  it('brings along what was written since the copy', async () => {
    await stopBefore(database, 5, swap);
    await query(CHANGES);
    const before = await contents();
    await runPhase5();
    await expect(contents()).resolves.toEqual(before);
    await expect(contents('_old')).resolves.toEqual(before);
  });

  it('is undone without losing a write of the default tenant', async () => {
    await runPhase5();
    await query(CHANGES);
    const before = await contents();
    await database.migrate(migration => rollback(migration));
    await expect(contents()).resolves.toEqual(before);
    await expect(
      query(`select relkind from pg_class where oid = 'entities'::regclass`),
    ).resolves.toEqual([{ relkind: 'r' }]);
  });

  it('is done again with what was written since it was undone', async () => {
    await runPhase5();
    await database.migrate(migration => rollback(migration));
    await query(CHANGES);
    const before = await contents();
    await runPhase5();
    await expect(contents()).resolves.toEqual(before);
  });

  it('brings along a table that was truncated', async () => {
    await stopBefore(database, 5, swap);
    await query(
      `truncate refresh_state;
       insert into refresh_state (tenant_id, entity_id, location_key)
       select tenant_id, entity_id, 'again' || entity_name from entities limit 7`,
    );
    const before = await contents();
    await runPhase5();
    await expect(contents()).resolves.toEqual(before);
  });

  it('restores the foreign key of relations on the tenant and the entity', async () => {
    await runPhase5();
    await database.migrate(migration => rollback(migration));
    const keys = await query(
      `select pg_get_constraintdef(oid) as key from pg_constraint
        where conrelid = 'relations'::regclass and conname = 'relations_tenant_entity_fkey'
          and convalidated`,
    );
    expect(keys).toEqual([
      {
        key: 'FOREIGN KEY (tenant_id, originating_entity_id) REFERENCES entities(tenant_id, entity_id) ON DELETE CASCADE',
      },
    ]);
  });

  it('leaves rows of other tenants in the archive when it is undone, and brings them back', async () => {
    await runPhase5();
    await query(
      `insert into tenants (tenant_id, tenant_slug, tenant_name) values ('${OTHER}', 'acme', 'ACME');
       insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
       values ('${OTHER}', 'component:default/service-1', 'component', 'service-1', '{}', '');
       insert into relations (tenant_id, originating_entity_id, source_entity_ref, type, target_entity_ref)
       select tenant_id, entity_id, entity_ref, 'a', 'b' from entities where tenant_id = '${OTHER}'`,
    );
    await database.migrate(migration => rollback(migration));
    await expect(
      query(`select 1 from entities where tenant_id = '${OTHER}'`),
    ).resolves.toEqual([]);
    await expect(
      database.migrate(migration => rollback(migration, 4)),
    ).rejects.toThrow('- entities: 1 row of 1 other tenant');

    await runPhase5();
    await expect(
      query(`select entity_ref from entities where tenant_id = '${OTHER}'`),
    ).resolves.toEqual([{ entity_ref: 'component:default/service-1' }]);
  });

  describe('for an application that serves tenants', () => {
    const LOOK = 'select from tenancy_ready';

    /** Works with a session of the application. */
    async function asApplication<T>(work: (session: Client) => Promise<T>) {
      return asLogin(database, 'portal_app', work);
    }

    it('there is a table to look for, from when all entities have their terms on', async () => {
      await stopBefore(database, 5, ready);
      await asApplication(async session => {
        await expect(session.query(LOOK)).rejects.toMatchObject({
          code: '42P01',
        });
        await runPhase5();
        await expect(session.query(LOOK)).resolves.toMatchObject({
          rowCount: 0,
        });
        for (const write of [
          'insert into tenancy_ready default values',
          'delete from tenancy_ready',
          'truncate tenancy_ready',
        ]) {
          await expect(session.query(write)).rejects.toMatchObject({
            code: '42501',
          });
        }
      });
    });

    it('no transaction that has found it runs while the tables are taken back', async () => {
      await runPhase5();
      await withClient(
        await connectionOf(database, 'portal_app'),
        async session => {
          await session.query('set search_path = tenancy; begin');
          await session.query(LOOK);
          await session.query(
            `select set_config('app.tenant_id', '${TENANT}', true)`,
          );
          let seenWhileWaiting: Promise<unknown> | undefined;
          await database.migrate(migration => rollback(migration), {
            settings: { force: true },
            reporter: {
              ...silentReporter,
              // The transaction goes on, with the tables that it has begun with.
              waiting: what => {
                expect(what).toBe('Drop tenancy_ready');
                seenWhileWaiting ??= session
                  .query('select count(*)::int as terms from entity_terms')
                  .then(({ rows }) => session.query('commit').then(() => rows));
              },
            },
          });
          await expect(seenWhileWaiting).resolves.toEqual([
            { terms: expect.any(Number) },
          ]);
          await expect(session.query(LOOK)).rejects.toMatchObject({
            code: '42P01',
          });
        },
      );
    });

    it('a login without rights to see sessions sees those of the application nevertheless', async () => {
      await runPhase5();
      await asApplication(async session => {
        const { rows } = await session.query('select pg_backend_pid() as pid');
        const login = `way_back_login_${process.pid}`;
        await changeRole(
          database.client,
          `create role ${login} login in role portal_admin`,
        );
        await database.migrate(
          async ({ context }) => {
            await expect(
              describeSessions(context.executor, `r.rolname = 'portal_app'`),
            ).resolves.toContain(`process ${rows[0].pid} of the server`);
          },
          { connection: await connectionOf(database, login) },
        );
        await changeRole(database.client, `drop role ${login}`);
      });
    });
  });
});

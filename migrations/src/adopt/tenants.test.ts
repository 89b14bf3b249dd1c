import {
  changeRole,
  createTestDatabases,
  waitUntil,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import { connectionOf } from '../__testUtils__/roles';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { column, differences } from './__testUtils__/inspect';
import { createStockCatalog } from './__testUtils__/stockCatalog';
import type { StockCatalog } from './__testUtils__/stockCatalog';
import {
  ACME,
  cloneStatements,
  connectEngine,
  createTenant,
  giveEngine,
  INITECH,
} from './__testUtils__/tenantEngine';
import type { TenantEngine } from './__testUtils__/tenantEngine';
import { attachEngine } from './attach';
import { engineSchemaOf } from './engine';
import {
  adopt,
  readAdoptedTenants,
  readAdoption,
  retryFaults,
} from './library';
import { unadopt } from './unadopt';

const databases = createTestDatabases();

const WITH_NUL = '{"metadata":{"description":"\\u0000"}}';
const OWNED = [['ownedBy', 'group:default/g']] as [string, string][];

describe.each(databases.eachSupportedId())('engines of tenants on %s', id => {
  let catalog: StockCatalog;
  let acme: TenantEngine;
  let initech: TenantEngine;
  const engines: TenantEngine[] = [];
  const keep = (engine: TenantEngine) => {
    engines.push(engine);
    return engine;
  };

  async function setUp(options: { maxEntities?: number } = {}) {
    catalog = await createStockCatalog(databases, id);
    await adopt({ connection: catalog.connection });
    await createTenant(catalog, ACME, 'acme', options.maxEntities);
    await createTenant(catalog, INITECH, 'initech');
    acme = keep(await giveEngine(catalog, ACME));
    initech = keep(await giveEngine(catalog, INITECH));
  }

  afterEach(async () => {
    await Promise.all(engines.splice(0).map(engine => engine.close()));
    await catalog.close();
  });

  const refsOf = (tenantId: string) =>
    column<string>(
      catalog,
      'select entity_ref from tenancy.entities where tenant_id = $1 and deleted_at is null order by 1',
      [tenantId],
    );
  const faultsOf = (tenantId: string) =>
    column<string>(
      catalog,
      'select reason from tenancy.adoption_faults where tenant_id = $1 order by 1',
      [tenantId],
    );

  it('carry the same refs each to its tenant', async () => {
    await setUp();
    const ref = 'component:default/same';
    for (const { engine } of [catalog, acme, initech]) {
      await engine.ingest({
        ref: 'group:default/g',
        description: 'parent',
      });
    }
    await catalog.engine.ingest({ ref, description: 'stock' });
    await acme.engine.ingest({
      ref,
      description: 'acme',
      relations: OWNED,
      parent: 'group:default/g',
      locationKey: 'url:acme',
      errors: '[{"message":"acme"}]',
    });
    const entityId = await initech.engine.ingest({ ref, description: 'no' });
    await initech.engine.stitch(entityId, { ref, description: 'initech' });
    expect(
      await column(
        catalog,
        `select concat_ws(' ', t.tenant_slug, e.final_entity #>> '{metadata,description}', s.location_key,
                s.errors, (select count(*) from relations r where r.tenant_id = e.tenant_id),
                (select count(*) from entity_parents p where p.tenant_id = e.tenant_id))
           from entities e join tenants t using (tenant_id)
           join refresh_state s on s.tenant_id = e.tenant_id and s.entity_id = e.entity_id
          where entity_ref = $1 order by 1`,
        [ref],
      ),
    ).toEqual([
      'acme acme url:acme [{"message": "acme"}] 1 1',
      'default stock [] 0 0',
      'initech initech [] 0 0',
    ]);
    await acme.engine.remove(ref);
    expect(await refsOf(ACME)).toEqual(['group:default/g']);
    expect(await refsOf(INITECH)).toContain(ref);
    expect(await refsOf(DEFAULT_TENANT_ID)).toContain(ref);
    expect(await differences(catalog)).toEqual([]);
  });

  it.each(['refresh_state', 'relations'])(
    'lose only their own where they are truncated: %s',
    async table => {
      await setUp();
      for (const { engine } of [catalog, acme, initech]) {
        await engine.ingest({ ref: 'component:default/a', relations: OWNED });
        await engine.ingest({ ref: 'component:default/b', json: WITH_NUL });
      }
      const rows = (tenantId: string) =>
        column(
          catalog,
          `select (select count(*)::int from relations where tenant_id = $1)
                + (select count(*)::int from entities where tenant_id = $1)
                + (select count(*)::int from adoption_faults where tenant_id = $1)`,
          [tenantId],
        );
      expect(await rows(ACME)).toEqual([3]);
      await acme.knex.raw(`truncate ${table} cascade`);
      expect(await rows(ACME)).toEqual([table === 'relations' ? 2 : 0]);
      expect(await rows(INITECH)).toEqual([3]);
      expect(await rows(DEFAULT_TENANT_ID)).toEqual([3]);
    },
  );

  it('have faults of their own, which are retried on their own', async () => {
    await setUp();
    const { client, connection } = catalog;
    await client.query(
      `alter table entities add constraint no check (entity_name <> 'no') not valid`,
    );
    for (const { engine } of [acme, initech]) {
      await engine.ingest({ ref: 'component:default/no' });
      await engine.ingest({ ref: 'component:default/yes' });
    }
    expect(await refsOf(ACME)).toEqual(['component:default/yes']);
    expect(await readAdoption({ connection })).toMatchObject({ faults: 0 });
    expect(await readAdoptedTenants({ connection })).toMatchObject([
      { tenantId: DEFAULT_TENANT_ID, slug: 'default', faults: 0 },
      { tenantId: ACME, slug: 'acme', faults: 1, isComplete: true },
      {
        tenantId: INITECH,
        slug: 'initech',
        faults: 1,
        catalogSchema: engineSchemaOf(INITECH),
        engineTables: true,
        isDeleted: false,
      },
    ]);
    await client.query('alter table entities drop constraint no');
    expect(
      await retryFaults({ connection, tenantId: ACME.toUpperCase() }),
    ).toMatchObject({ adopted: true, faults: 0, engineEntities: 2 });
    expect(await refsOf(ACME)).toHaveLength(2);
    expect(await faultsOf(INITECH)).toHaveLength(1);
  });

  it('are compared with their tenants', async () => {
    await setUp();
    await acme.engine.ingest({ ref: 'component:default/a', relations: OWNED });
    await initech.engine.ingest({ ref: 'component:default/a' });
    expect(await differences(catalog)).toEqual([]);
    await catalog.client.query(
      `delete from entities where tenant_id = '${ACME}'`,
    );
    expect(await differences(catalog)).toEqual([
      expect.stringMatching(
        /^entities of the tenant "acme" differs from its engine in the schema "tenant_1+4111811+" in 1 row: [0-9a-f-]+\. Run .*adopt --tenant acme\.$/,
      ),
    ]);
    await adopt({ connection: catalog.connection, tenantId: ACME });
    // Older snapshots do not show what is written to a new file, as by an import.
    await catalog.client.query(
      `begin; alter table ${acme.schema}.relations alter column type type text using type || ''`,
    );
    const compared = differences(catalog);
    await waitUntil('the comparison to wait', () =>
      acme
        .knex('pg_stat_activity')
        .whereRaw(`datname = current_database() and wait_event_type = 'Lock'`)
        .first(),
    );
    await catalog.client.query('commit');
    expect(await compared).toEqual([]);
  });

  it('are adopted with what they have, in a schema of any name', async () => {
    await setUp();
    const { connection, client } = catalog;
    const tenantId = '33333333-3333-4333-8333-333333333333';
    const schema = `x'; drop table %I "tenancy".entities; --\\ $$`;
    await createTenant(catalog, tenantId, 'other');
    await client.query(cloneStatements(schema).join(';\n'));
    const { engine } = keep(connectEngine(catalog, tenantId, schema));
    await engine.ingest({ ref: 'component:default/a', relations: OWNED });
    await expect(adopt({ connection, tenantId })).rejects.toThrow(
      'The schema "tenant_33333333333343338333333333333333" has no tables',
    );
    expect(
      await adopt({ connection, tenantId, catalogSchema: schema }),
    ).toMatchObject({ adopted: true, catalogSchema: schema });
    await engine.ingest({ ref: 'component:default/b', relations: OWNED });
    expect(await refsOf(tenantId)).toHaveLength(2);
    expect(await differences(catalog)).toEqual([]);
    expect(await faultsOf(tenantId)).toEqual([]);
    await expect(
      adopt({ connection, tenantId: `${ACME}'; select 1` }),
    ).rejects.toThrow('is not a UUID');
    await expect(
      adopt({ connection, tenantId: tenantId.replaceAll('3', '4') }),
    ).rejects.toThrow('There is no tenant');
  });

  it('are adopted for one tenant, and in one schema', async () => {
    await setUp();
    const { connection } = catalog;
    const tenantId = '33333333-3333-4333-8333-333333333333';
    await createTenant(catalog, tenantId, 'other');
    for (const options of [
      { tenantId, catalogSchema: acme.schema },
      { tenantId, catalogSchema: 'public' },
      { schema: 'tenancy_on_trial' },
    ]) {
      const owner = options.catalogSchema === acme.schema ? ACME : '0000';
      await expect(adopt({ connection, ...options })).rejects.toThrow(
        `unadopt --schema tenancy --tenant ${owner}`,
      );
    }
    await acme.engine.ingest({ ref: 'component:default/a' });
    await catalog.engine.ingest({ ref: 'component:default/a' });
    expect(await differences(catalog)).toEqual([]);
    expect(
      await column(catalog, `select to_regnamespace('tenancy_on_trial')`),
    ).toEqual([null]);
  });

  it('lock the partitions of their tenant alone', async () => {
    await setUp();
    const { client } = catalog;
    for (let i = 0; i < 20; i += 1) {
      const tenant = `00000000-0000-4000-8000-${`${i}`.padStart(12, '0')}`;
      for (const table of ['entities', 'relations', 'refresh_state']) {
        await client.query(
          `create table ${table}_${i} partition of ${table} for values in ('${tenant}')`,
        );
      }
    }
    const locked = async () => {
      const entity = {
        ref: 'component:default/a',
        relations: OWNED,
      };
      // More often than the planner would try custom plans for, in one session.
      return acme.knex.transaction(async tx => {
        const names = new Set<string>();
        for (let i = 0; i < 8; i += 1) {
          const entityId = `aaaaaaaa-aaaa-4aaa-8aaa-${`${i}`.padStart(
            12,
            '0',
          )}`;
          await tx('refresh_state').insert({
            entity_id: entityId,
            entity_ref: `${entity.ref}${i}`,
            unprocessed_entity: '{}',
            errors: '',
            next_update_at: tx.fn.now(),
            last_discovery_at: tx.fn.now(),
          });
          const final = {
            entity_id: entityId,
            entity_ref: `${entity.ref}${i}`,
            final_entity: '{}',
            hash: `${i}`,
            last_updated_at: tx.fn.now(),
          };
          await tx('final_entities').insert(final);
          await tx('relations').insert({
            originating_entity_id: entityId,
            source_entity_ref: entity.ref,
            type: 'ownedBy',
            target_entity_ref: 'group:default/g',
          });
          await tx('final_entities').update({ hash: `x${i}` });
          await tx('refresh_state').update({ errors: `[${i}]` });
        }
        await tx('refresh_state').delete();
        const { rows } = await tx.raw(
          `select c.relname from pg_locks l join pg_class c on c.oid = l.relation
            where l.pid = pg_backend_pid() and c.relispartition and c.relkind = 'r'
              and c.relnamespace = 'tenancy'::regnamespace`,
        );
        rows.forEach(({ relname }: { relname: string }) => names.add(relname));
        return [...names].sort();
      });
    };
    const names = await locked();
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter(name => /_\d+$/.test(name))).toEqual([]);
    expect(await faultsOf(ACME)).toEqual([]);
  });

  it('end one by one', async () => {
    await setUp();
    await acme.engine.ingest({ ref: 'component:default/a' });
    await initech.engine.ingest({ ref: 'component:default/a' });
    await acme.close();
    const end = (tenantId: string) =>
      catalog.migrate(({ context }) => unadopt(context, { tenantId }));
    const stopped = catalog.migrate(({ context }) => {
      const { transaction } = context.executor;
      context.executor.transaction = async each => {
        if (each.title.startsWith('Forget')) {
          throw new Error('stopped');
        }
        await transaction(each);
      };
      return unadopt(context, { tenantId: ACME });
    });
    await expect(stopped).rejects.toThrow('stopped');
    expect(await end(ACME)).toBe(true);
    expect(await end(ACME)).toBe(false);
    expect(await refsOf(ACME)).toEqual([]);
    expect(await refsOf(INITECH)).toHaveLength(1);
    expect(await end(INITECH)).toBe(true);
    await initech.engine.ingest({ ref: 'component:default/b' });
    expect(await refsOf(INITECH)).toEqual([]);
    expect(
      await column(
        catalog,
        `select tgname::text from pg_trigger t join pg_class c on c.oid = t.tgrelid
          where tgname ~ 'adoption' and c.relnamespace::regnamespace::text ~ '^tenant_'
          union all
         select nspname || nspacl::text from pg_namespace
          where nspacl::text ~ 'portal_admin' and nspname ~ '^tenant_'`,
      ),
    ).toEqual([]);
  });

  describe('that are attached', () => {
    const LOGIN = 'engine_builder';
    const options = {
      schema: 'tenancy',
      tenantId: ACME,
      catalogSchema: engineSchemaOf(ACME),
    };
    let client: Client;
    const build = () =>
      ['begin', ...cloneStatements(options.catalogSchema)].join(';\n');
    const attach = () => attachEngine(options).join(';\n');

    beforeEach(async () => {
      catalog = await createStockCatalog(databases, id);
      await adopt({ connection: catalog.connection });
      await createTenant(catalog, ACME, 'acme');
      await changeRole(catalog.client, `create role ${LOGIN} login noinherit`);
      await changeRole(catalog.client, `grant portal_admin to ${LOGIN}`);
      await catalog.client.query(
        `grant select on all tables in schema public to ${LOGIN}`,
      );
      await catalog.client.query(
        `grant create on database "${catalog.connection.database}" to ${LOGIN}`,
      );
      client = new Client(await connectionOf(catalog, LOGIN));
      await client.connect();
      await client.query('set search_path = pg_catalog');
    });
    afterEach(() => client.end());

    it('are in a transaction of a login without other rights, and carry from then on', async () => {
      await client.query(build());
      await client.query(attach());
      expect((await client.query('select current_user')).rows).toEqual([
        { current_user: LOGIN },
      ]);
      await client.query('commit');
      acme = keep(connectEngine(catalog, ACME));
      await acme.engine.ingest({
        ref: 'component:default/a',
        relations: OWNED,
      });
      expect(await faultsOf(ACME)).toEqual([]);
      expect(await refsOf(ACME)).toEqual(['component:default/a']);
      expect(
        await readAdoption({
          connection: catalog.connection,
          tenantId: ACME,
        }),
      ).toMatchObject({ adopted: true, tablesWithoutTriggers: [] });
    });

    it('are attached again where their schema was dropped, and keep what was carried until the engine has it', async () => {
      await client.query([build(), attach(), 'commit'].join(';\n'));
      acme = connectEngine(catalog, ACME);
      await acme.engine.ingest({ ref: 'component:default/kept' });
      await acme.engine.ingest({ ref: 'component:default/replaced' });
      await acme.close();
      await client.query(`drop schema ${options.catalogSchema} cascade`);
      await client.query([build(), attach(), 'commit'].join(';\n'));
      acme = keep(connectEngine(catalog, ACME));
      const entityId = await acme.engine.ingest({
        ref: 'component:default/replaced',
      });
      expect(await faultsOf(ACME)).toEqual([]);
      expect(
        await column(
          catalog,
          `select entity_ref || ' ' || (entity_id = $2) from tenancy.entities
            where tenant_id = $1 order by 1`,
          [ACME, entityId],
        ),
      ).toEqual([
        'component:default/kept false',
        'component:default/replaced true',
      ]);
      await adopt({
        connection: catalog.connection,
        tenantId: ACME,
        force: true,
      });
      expect(await refsOf(ACME)).toEqual(['component:default/replaced']);
    });

    it('leave nothing where the transaction fails', async () => {
      await client.query(build());
      await client.query(attach());
      await client.query('rollback');
      expect(
        await column(
          catalog,
          `select key from adoption_state where tenant_id = '${ACME}'
            union all select nspname from pg_namespace where nspname ~ '^tenant_'`,
        ),
      ).toEqual([]);
    });

    it.each([
      [
        'tables with rows',
        `insert into ${options.catalogSchema}.refresh_state
           (entity_id, entity_ref, unprocessed_entity, errors, next_update_at, last_discovery_at)
         values ('a', 'a', '{}', '', now(), now())`,
        'the tables of the engine have rows',
      ],
      [
        'a tenant with an engine',
        `set local role portal_admin;
         insert into tenancy.adoption_state values ('${ACME}', 'engine', '{"schema":"x"}');
         reset role`,
        'the tenant has an engine already',
      ],
      [
        'tables of an earlier version',
        `set local role portal_admin;
         drop function tenancy.adoption_put(uuid, text, text);
         reset role`,
        'run phase 5 again',
      ],
    ])('are not %s', async (_, statements, message) => {
      await client.query(build());
      await client.query(statements);
      await expect(client.query(attach())).rejects.toThrow(message);
      await client.query('rollback');
    });

    it.each(['', 'acme', `${ACME}'`, `${ACME}\n`, DEFAULT_TENANT_ID])(
      'are no engine of %j',
      tenantId => {
        expect(() => attachEngine({ ...options, tenantId })).toThrow(TypeError);
      },
    );
  });
});

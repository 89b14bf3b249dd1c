import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInProcess } from '../cli/__testUtils__/runCli';
import { migrateTo } from '../migrateTo';
import { column, differences, faultsOf, refsOf } from './__testUtils__/inspect';
import { createStockCatalog } from './__testUtils__/stockCatalog';
import type { StockCatalog } from './__testUtils__/stockCatalog';
import { adopt, readAdoption, retryFaults } from './library';

const databases = createTestDatabases();

describe.each(databases.eachSupportedId())('adopting a catalog on %s', id => {
  let catalog: StockCatalog;
  afterEach(() => catalog.close());

  const service = (name: string) => ({
    ref: `component:default/${name}`,
    relations: [['ownedBy', 'group:default/team']] as [string, string][],
  });

  it('begins each batch behind the one before, in all tables', async () => {
    const entities = 1_500;
    catalog = await createStockCatalog(databases, id);
    const { connection, client } = catalog;
    await client.query(
      `with made as (
         select gen_random_uuid()::text as id, 'component:default/s' || n as ref
           from generate_series(1, $1::int) n
       ), states as (
         insert into public.refresh_state
           (entity_id, entity_ref, unprocessed_entity, processed_entity, errors,
            next_update_at, last_discovery_at)
         select id, ref, '{}', '{}', '[]', now(), now() from made
       ), related as (
         insert into public.relations
           (originating_entity_id, source_entity_ref, type, target_entity_ref)
         select id, ref, 'ownedBy', 'group:default/team-' || hashtext(ref) % 10 from made
       )
       insert into public.final_entities
         (entity_id, entity_ref, final_entity, hash, last_updated_at)
       select id, ref,
              jsonb_build_object(
                'apiVersion', 'backstage.io/v1alpha1', 'kind', 'Component',
                'metadata', jsonb_build_object(
                  'uid', id, 'namespace', 'default', 'name', split_part(ref, '/', 2))),
              'hash', now()
         from made`,
      [entities],
    );
    expect(await adopt({ connection })).toMatchObject({
      adopted: true,
      faults: 0,
    });
    const read = async () => {
      const { rows } = await client.query<{ scans: number; entries: number }>(
        `select idx_scan::int as scans, idx_tup_read::int as entries
           from pg_stat_user_indexes
          where schemaname = 'public' and indexrelname = 'refresh_state_pkey'`,
      );
      return rows[0];
    };
    // PostgreSQL counts a moment later.
    await waitUntil('the counts', async () => (await read()).scans >= entities);
    // Some for each entity; hundreds if each batch began at the first.
    expect((await read()).entries).toBeLessThan(50 * entities);
  });

  it('is refused while a publication would get its tables, and changes nothing', async () => {
    catalog = await createStockCatalog(databases, id);
    const { connection, client } = catalog;
    await client.query('create publication everything for all tables');
    const refusal: Error = await adopt({ connection }).then(
      () => new Error('was not refused'),
      error => error,
    );
    expect(refusal.message).toMatch(
      /^The tables cannot be created:\nfailure {2}publications: .*: everything \(all tables\)\.\n[^]*\n +drop publication everything;/,
    );
    await expect(
      migrateTo(1, { connection, createTables: true }),
    ).rejects.toThrow(
      /^The tables cannot be created:\nfailure {2}publications: /,
    );
    await expect(
      column(
        catalog,
        `select nspname from pg_namespace where nspname = 'tenancy'`,
      ),
    ).resolves.toEqual([]);
  });

  it('carries what the catalog has', async () => {
    catalog = await createStockCatalog(databases, id);
    const { engine, connection, client } = catalog;
    for (let i = 0; i < 100; i += 1) {
      await engine.ingest({ ...service(`s${i}`), locationKey: `url:${i}` });
    }
    await engine.discover({ ref: 'component:default/not-stitched' });
    expect(await readAdoption({ connection })).toMatchObject({
      adopted: false,
      begun: false,
      engineTables: true,
      engineEntities: 100,
    });
    expect(await adopt({ connection })).toEqual({
      adopted: true,
      begun: true,
      ending: false,
      catalogSchema: 'public',
      engineTables: true,
      engineEntities: 100,
      faults: 0,
      latestFaults: [],
      tablesWithoutTriggers: [],
    });
    expect(await refsOf(catalog)).toHaveLength(100);
    expect(await differences(catalog)).toEqual([]);
    const { rows } = await client.query(
      `select e.entity_kind, e.entity_namespace, e.entity_name, e.hash = f.hash as hash,
              e.final_entity = f.final_entity::jsonb as entity,
              e.created_at = f.last_updated_at and e.updated_at = f.last_updated_at as times,
              s.location_key, s.errors, r.type, r.source_entity_ref, r.target_entity_ref
         from entities e
         join public.final_entities f on f.entity_id = e.entity_id::text
         join refresh_state s on s.entity_id = e.entity_id
         join relations r on r.originating_entity_id = e.entity_id
        where e.entity_ref = 'component:default/s7'`,
    );
    expect(rows).toEqual([
      {
        entity_kind: 'component',
        entity_namespace: 'default',
        entity_name: 's7',
        hash: true,
        entity: true,
        times: true,
        location_key: 'url:7',
        errors: [],
        type: 'ownedBy',
        source_entity_ref: 'component:default/s7',
        target_entity_ref: 'group:default/team',
      },
    ]);
  });

  it('carries every change in its transaction', async () => {
    catalog = await createStockCatalog(databases, id);
    const { engine, connection, knex } = catalog;
    const kept = await engine.ingest(service('kept'));
    const removed = await engine.ingest(service('removed'));
    await adopt({ connection });

    await engine.ingest(service('added'));
    await engine.process(kept, {
      ...service('kept'),
      locationKey: 'url:moved',
      errors: '[{"name":"Error","message":"no"}]',
      relations: [
        ['ownedBy', 'group:default/other'],
        ['ownedBy', 'group:default/other'],
        ['partOf', 'system:default/s'],
      ],
    });
    await engine.stitch(kept, { ...service('kept'), description: 'changed' });
    await engine.remove('component:default/removed');
    expect(await refsOf(catalog)).toEqual([
      'component:default/added',
      'component:default/kept',
    ]);
    expect(await differences(catalog)).toEqual([]);
    expect(
      await column(
        catalog,
        `select type from relations where originating_entity_id = $1 order by 1`,
        [kept],
      ),
    ).toEqual(['ownedBy', 'ownedBy', 'partOf']);
    expect(
      await column(
        catalog,
        `select row(location_key, errors)::text from refresh_state where entity_id in ($1, $2)`,
        [kept, removed],
      ),
    ).toEqual([expect.stringMatching(/^\(url:moved,.*no.*\)$/)]);

    // The same ref as another entity.
    await engine.remove('component:default/kept');
    const again = await engine.ingest(service('kept'));
    expect(
      await column(
        catalog,
        `select entity_id from entities where entity_ref = 'component:default/kept'`,
      ),
    ).toEqual([again]);
    expect(await differences(catalog)).toEqual([]);

    const before = await refsOf(catalog);
    const transaction = await knex.transaction();
    await transaction('refresh_state').delete();
    await transaction.rollback();
    expect(await refsOf(catalog)).toEqual(before);

    await knex.raw('truncate refresh_state cascade');
    expect(await refsOf(catalog)).toEqual([]);
    expect(await faultsOf(catalog)).toEqual([]);
    expect(await differences(catalog)).toEqual([]);
  });

  it('carries an entity that is new to the engine over rows that are left of its id and of its ref', async () => {
    catalog = await createStockCatalog(databases, id);
    const { engine, connection, client } = catalog;
    await adopt({ connection });
    const [mine, others] = [
      '11111111-1111-4111-8111-111111111111',
      '22222222-2222-4222-8222-222222222222',
    ];
    const leave = (entityId: string, name: string, deletedAt: string | null) =>
      client.query(
        `insert into entities (tenant_id, entity_id, entity_ref, entity_kind, entity_namespace,
           entity_name, final_entity, hash, deleted_at)
         values ('00000000-0000-0000-0000-000000000001', $1, 'component:default/' || $2,
           'component', 'default', $2, '{}', 'h', $3)`,
        [entityId, name, deletedAt],
      );
    await leave(mine, 'was', '2026-01-01');
    await leave(others, 'is', null);
    await engine.ingest({ ...service('is'), id: mine });
    expect(await differences(catalog)).toEqual([]);
    expect(await faultsOf(catalog)).toEqual([]);
  });

  it('carries what a session writes that plays a replica, without foreign keys', async () => {
    catalog = await createStockCatalog(databases, id);
    const { engine, connection, knex } = catalog;
    await adopt({ connection });
    for (const statements of [
      ['final_entities', 'relations', 'refresh_state'].map(
        table => `delete from ${table}`,
      ),
      ['truncate refresh_state cascade'],
    ]) {
      await engine.ingest(service('a'));
      await knex.transaction(async tx => {
        await tx.raw('set local session_replication_role = replica');
        for (const statement of statements) {
          await tx.raw(statement);
        }
      });
      expect(await differences(catalog)).toEqual([]);
      expect(await refsOf(catalog)).toEqual([]);
    }
  });

  it.each([
    `update entities set final_entity = '{}'`,
    `update relations set type = 'other'`,
    `alter table refresh_state disable trigger all; delete from entities;
     delete from relations; set session_replication_role = replica;
     insert into refresh_state (tenant_id, entity_id) values ('00000000-0000-0000-0000-000000000001', '11111111-1111-4111-8111-111111111111');
     set session_replication_role = origin`,
  ])('makes equal again what somebody has changed: %s', async change => {
    catalog = await createStockCatalog(databases, id);
    const { engine, connection, client } = catalog;
    await engine.ingest(service('a'));
    await adopt({ connection });
    await client.query(change);
    expect(await differences(catalog)).not.toEqual([]);
    await adopt({ connection });
    expect(await differences(catalog)).toEqual([]);
  });

  it('writes nothing where the engine numbers what it publishes', async () => {
    catalog = await createStockCatalog(databases, id);
    const { engine, client, connection, knex } = catalog;
    // Of catalog-backend since 4.0.3.
    await client.query(
      'alter table public.final_entities add column if not exists generation bigint',
    );
    await engine.ingest(service('a'));
    await adopt({ connection });
    const version = 'select xmin::text from entities';
    const before = await column(catalog, version);
    await knex('final_entities').update({ generation: 7 });
    expect(await column(catalog, version)).toEqual(before);
    await knex('final_entities').update({ generation: 8, hash: 'other' });
    expect(await column(catalog, 'select hash from entities')).toEqual([
      'other',
    ]);
    await knex('final_entities').update({ last_updated_at: '2026-01-02' });
    expect(await differences(catalog)).toEqual([]);
    await knex('final_entities').update({
      final_entity: knex.raw(`replace(final_entity, 'Component', 'API')`),
    });
    expect(await differences(catalog)).toEqual([]);
  });

  it('replaces a function of another version, by a retry too', async () => {
    catalog = await createStockCatalog(databases, id);
    const { client, connection } = catalog;
    await adopt({ connection });
    const bodies = `select prosrc from pg_proc where proname like 'adoption%' order by oid`;
    const before = await column(catalog, bodies);
    await client.query(
      `create or replace function adoption_json(p_text text) returns jsonb language sql as 'select $1::jsonb'`,
    );
    expect(await column(catalog, bodies)).not.toEqual(before);
    await retryFaults({ connection });
    expect(await column(catalog, bodies)).toEqual(before);
  });

  it('writes nothing for the bookkeeping of refreshes', async () => {
    catalog = await createStockCatalog(databases, id);
    const { engine, connection } = catalog;
    await engine.ingest(service('a'));
    await adopt({ connection });
    const version = `select xmin::text from refresh_state`;
    const before = await column(catalog, version);
    await engine.touch();
    await catalog.knex('refresh_state').update({
      cache: '{}',
      result_hash: 'x',
      unprocessed_entity: '{"a":1}',
      unprocessed_hash: 'x',
    });
    expect(await column(catalog, version)).toEqual(before);
  });

  it('is not replaced by an export, which has nothing of the catalog', async () => {
    catalog = await createStockCatalog(databases, id);
    const { connection } = catalog;
    await adopt({ connection });
    const folder = await mkdtemp(join(tmpdir(), 'exports-'));
    const file = join(folder, 'default.gz');
    const tenant = (...args: string[]) =>
      runInProcess(connection, 'tenant', ...args);
    await expect(tenant('export', 'default', file)).resolves.toMatchObject({
      exitCode: 0,
    });
    await catalog.engine.ingest({ ref: 'component:default/later' });
    await expect(
      tenant('import', file, '--replace', '--yes'),
    ).resolves.toMatchObject({ exitCode: 3 });
    expect(await differences(catalog)).toEqual([]);
    await rm(folder, { recursive: true });
  });

  it('leaves the entities of other tenants alone', async () => {
    catalog = await createStockCatalog(databases, id);
    const { engine, connection, client, knex } = catalog;
    await engine.ingest(service('a'));
    await migrateTo(5, { connection, createTables: true, force: true });
    await client.query(
      `insert into tenants (tenant_id, tenant_slug, tenant_name)
       values ('11111111-1111-4111-8111-111111111111', 'other', 'Other');
       insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
       values ('11111111-1111-4111-8111-111111111111', 'component:default/a', 'component', 'a', '{}', '')`,
    );
    const others = () =>
      column<number>(
        catalog,
        `select count(*)::int from entities where tenant_id = '11111111-1111-4111-8111-111111111111'`,
      );
    await adopt({ connection });
    expect(await others()).toEqual([1]);
    await engine.remove('component:default/a');
    await knex.raw('truncate refresh_state cascade');
    expect(await others()).toEqual([1]);
    expect(await differences(catalog)).toEqual([]);
  });

  it('finds a catalog in a schema of its own, whatever that is called', async () => {
    const catalogSchema = `Bob's "catalog"`;
    catalog = await createStockCatalog(databases, id, { catalogSchema });
    const { engine, connection, client } = catalog;
    await engine.ingest(service('a'));
    const schema = `The "tenants'" schema`;
    expect(await adopt({ connection, schema })).toMatchObject({
      adopted: true,
      catalogSchema,
    });
    await engine.ingest(service('b'));
    const { rows } = await client.query(
      `select entity_ref from "The ""tenants'"" schema".entities order by 1`,
    );
    expect(rows.map(row => row.entity_ref)).toEqual([
      'component:default/a',
      'component:default/b',
    ]);
    await expect(
      adopt({ connection, schema, catalogSchema: 'public' }),
    ).rejects.toThrow('The schema "public" has no tables of a stock catalog');
  });

  it('estimates how many entities a large catalog has, of which it reads some alone', async () => {
    catalog = await createStockCatalog(databases, id);
    const { connection, client } = catalog;
    const addEntities = (count: number) =>
      client.query(
        `with made as (
           insert into public.refresh_state
             (entity_id, entity_ref, unprocessed_entity, errors, next_update_at, last_discovery_at)
           select gen_random_uuid()::text, 'component:default/' || gen_random_uuid(), '{}', '[]', now(), now()
             from generate_series(1, $1::int)
           returning entity_id, entity_ref)
         insert into public.final_entities (entity_id, entity_ref, final_entity, hash)
         select entity_id, entity_ref, '{}', '' from made`,
        [count],
      );
    await client.query(
      'alter table public.final_entities set (autovacuum_enabled = off)',
    );
    await addEntities(12_000);
    await client.query('analyze public.final_entities');
    await addEntities(500);
    const { stdout } = await runInProcess(connection, 'status');
    expect(stdout).toContain('with about 12,000 entities');
  });

  it('tells apart several catalogs in one database', async () => {
    catalog = await createStockCatalog(databases, id);
    const { connection, client } = catalog;
    await client.query('create schema second');
    for (const table of [
      'final_entities',
      'relations',
      'refresh_state',
      'refresh_state_references',
    ]) {
      await client.query(`create table second.${table} (like public.${table})`);
    }
    await expect(adopt({ connection })).rejects.toThrow(
      'Several schemas have tables of a stock catalog: "public", "second"',
    );
    await adopt({ connection, catalogSchema: 'public' });
    await expect(
      adopt({ connection, catalogSchema: 'second' }),
    ).rejects.toThrow('The catalog in the schema "public" is adopted already');
  });
});

import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import type { JsonObject } from '@backstage/types';
import { mockLogger } from '../__testUtils__/serviceMocks';
import { PostgresCatalogStore } from '../catalog/PostgresCatalogStore';
import { PooledTenantDatabase } from '../database/PooledTenantDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { outcomesOf, Registry } from '../tenants/__testUtils__/registry';
import { TIMING } from '../tenants/CachingTenantDirectory';
import { ChangeListener } from '../tenants/ChangeListener';
import { DEFAULT_TENANT_ID } from '../tenants/Tenant';
import { ListeningTenantEngines } from './ListeningTenantEngines';
import { PostgresTenantEngineStore } from './PostgresTenantEngineStore';

const databases = createTestDatabases();

const BY = 'user:default/admin';
const CONFIG: JsonObject = {
  catalog: { locations: [{ type: 'url', target: 'https://example.com/a' }] },
};

const component = (name: string) => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Component',
  metadata: { name },
  relations: [{ type: 'ownedBy', targetRef: 'group:default/team' }],
});

describe.each(databases.eachSupportedId())('engines of tenants on %s', id => {
  let registry: Registry;
  let store: PostgresTenantEngineStore;
  let catalog: PostgresCatalogStore;
  let otherPool: TenancyPool;
  let acmeId: string;
  const changed = jest.fn();

  beforeAll(async () => {
    registry = await Registry.create(databases, id);
    const { pool } = registry.database;
    otherPool = registry.database.createPool();
    store = new PostgresTenantEngineStore({
      pool,
      admin: registry.admin,
      changes: { changed },
    });
    catalog = new PostgresCatalogStore({
      database: new PooledTenantDatabase(pool),
      pool,
    });
  });
  afterAll(() => registry.database.close());
  beforeEach(async () => {
    await registry.empty();
    acmeId = (await registry.createTenant('acme')).tenant_id;
    await registry.createTenant('globex');
  });

  const write = (names: string[], tenantId = acmeId) =>
    catalog.applyMutation(tenantId, {
      type: 'full',
      entities: names.map(component),
    });

  /** How many rows the tenant has in each table. */
  async function rowsOf(tenantId: string) {
    const counts: Record<string, number> = {};
    for (const table of [
      'entities',
      'relations',
      'refresh_state',
      'entity_terms',
    ]) {
      const { rows } = await registry.database.client.query(
        `select from ${table} where tenant_id = $1`,
        [tenantId],
      );
      counts[table] = rows.length;
    }
    return counts;
  }

  const listeners: ChangeListener[] = [];
  afterEach(() => Promise.all(listeners.splice(0).map(each => each.close())));

  /** In a process that is not the one that makes the changes. */
  async function listen() {
    const listener = new ChangeListener({
      ...TIMING,
      pool: otherPool,
      logger: mockLogger(),
    });
    listeners.push(listener);
    const engines = new ListeningTenantEngines({ pool: otherPool, listener });
    const calls = jest.fn();
    const stop = engines.onChange(calls);
    await waitUntil(
      'the process to hear, and to say so',
      () => listener.hears && calls.mock.calls.length > 0,
    );
    return { engines, calls, stop };
  }

  describe('enable', () => {
    it('gives a tenant an engine, and says who did it and when', async () => {
      const { engine, outcome, replaced } = await store.enable('acme', {
        by: BY,
      });
      expect(engine).toEqual({
        tenantId: acmeId,
        tenantSlug: 'acme',
        isActive: true,
        catalogConfig: undefined,
        configUpdatedAt: undefined,
        configUpdatedBy: undefined,
        createdBy: BY,
        createdAt: expect.any(Date),
      });
      expect({ outcome, replaced }).toEqual({
        outcome: 'created',
        replaced: 0,
      });
      await expect(store.get('acme')).resolves.toEqual(engine);
      await expect(store.get('globex')).resolves.toBeUndefined();
      expect(changed).toHaveBeenCalled();
    });

    it('can be repeated, and keeps the configuration and the entities', async () => {
      await store.enable('acme', { by: BY });
      const engine = await store.putConfig('acme', CONFIG, { by: BY });
      // As the triggers of the adoption do.
      await registry.insertEntity(acmeId, 'carried');
      await expect(
        store.enable('acme', { by: 'user:default/other', replace: true }),
      ).resolves.toEqual({ engine, outcome: 'unchanged', replaced: 0 });
      await expect(rowsOf(acmeId)).resolves.toMatchObject({ entities: 1 });
    });

    it('refuses a tenant with live entities, and says how many', async () => {
      await write(['a', 'b']);
      await expect(store.enable('acme', { by: BY })).rejects.toMatchObject({
        name: 'ConflictError',
        message: expect.stringMatching(
          /^The tenant 'acme' has 2 entities that code has written.*"replace": true/,
        ),
      });
      await expect(store.get('acme')).resolves.toBeUndefined();
      await expect(write(['a', 'b', 'c'])).resolves.toMatchObject({
        inserted: 1,
      });
    });

    it('deletes them with all that belongs to them, if it is to replace them', async () => {
      const globex = await registry.store.get('globex');
      await write(['theirs'], globex!.tenant_id);
      const theirs = await rowsOf(globex!.tenant_id);
      await write(['a', 'b', 'gone']);
      await write(['a', 'b']);
      await expect(
        store.enable('acme', { by: BY, replace: true }),
      ).resolves.toMatchObject({ outcome: 'created', replaced: 2 });
      await expect(rowsOf(acmeId)).resolves.toEqual({
        entities: 0,
        relations: 0,
        refresh_state: 0,
        entity_terms: 0,
      });
      await expect(rowsOf(globex!.tenant_id)).resolves.toEqual(theirs);
    });

    it('leaves the entities that triggers of an adoption carry: they are the engine’s', async () => {
      const { client } = registry.database;
      await registry.insertEntity(acmeId, 'carried');
      await client.query(
        `create schema engine;
         create table engine.final_entities ();
         create trigger carry after update on engine.final_entities for each row
           execute function adoption_on_final_entities('${acmeId}')`,
      );
      try {
        await expect(store.enable('acme', { by: BY })).resolves.toMatchObject({
          outcome: 'created',
          replaced: 0,
        });
        await expect(rowsOf(acmeId)).resolves.toMatchObject({ entities: 1 });
        await store.disable('acme');
        await expect(write([])).rejects.toThrow('the catalog that was adopted');
      } finally {
        await client.query('drop schema engine cascade');
      }
      await expect(write([])).resolves.toBeDefined();
    });

    it('deletes more of them than one statement does', async () => {
      await registry.database.client.query(
        `insert into entities (tenant_id, entity_ref, entity_kind, entity_name, final_entity, hash)
         select $1, 'api:default/n' || n, 'api', 'n' || n, '{}', ''
           from generate_series(1, 2001) n`,
        [acmeId],
      );
      await expect(
        store.enable('acme', { by: BY, replace: true }),
      ).resolves.toMatchObject({ replaced: 2001 });
      await expect(rowsOf(acmeId)).resolves.toMatchObject({ entities: 0 });
    });

    it('leaves no deleted entities behind, which would stand in the way of the engine', async () => {
      await write(['a']);
      await write([]);
      await expect(store.enable('acme', { by: BY })).resolves.toMatchObject({
        outcome: 'created',
        replaced: 0,
      });
      await expect(rowsOf(acmeId)).resolves.toMatchObject({ entities: 0 });
    });

    it('deletes nothing where it fails', async () => {
      await write(['a']);
      const { client } = registry.database;
      await client.query(
        `alter table tenant_engines add constraint no_acme check (created_by <> 'x')`,
      );
      try {
        await expect(
          store.enable('acme', { by: 'x', replace: true }),
        ).rejects.toThrow();
      } finally {
        await client.query(
          'alter table tenant_engines drop constraint no_acme',
        );
      }
      await expect(rowsOf(acmeId)).resolves.toMatchObject({ entities: 1 });
    });

    it('calls nobody where it is refused or changes nothing, or who is called could ask for ever', async () => {
      await store.enable('acme', { by: BY });
      const globex = await registry.store.get('globex');
      await write(['a'], globex!.tenant_id);
      changed.mockClear();
      await store.enable('acme', { by: BY });
      await expect(store.enable('globex', { by: BY })).rejects.toThrow();
      expect(changed).not.toHaveBeenCalled();
    });

    it.each([
      ['the default tenant', 'default', 'ConflictError', 'needs no engine'],
      ['a slug that no tenant has', 'none', 'NotFoundError', `'none'`],
      ['what is no slug', `a'; --`, 'NotFoundError', 'No tenant'],
    ])('refuses %s', async (_, slug, name, message) => {
      await expect(
        store.enable(slug, { by: BY, replace: true }),
      ).rejects.toMatchObject({
        name,
        message: expect.stringContaining(message),
      });
    });

    it('refuses a deleted tenant', async () => {
      await registry.store.delete('acme');
      await expect(store.enable('acme', { by: BY })).rejects.toThrow(
        `The tenant 'acme' is deleted`,
      );
    });
  });

  describe('applyMutation', () => {
    it('is refused beside an engine, in words that say what to do', async () => {
      await store.enable('acme', { by: BY });
      await expect(write(['a'])).rejects.toMatchObject({
        name: 'ConflictError',
        message: expect.stringMatching(
          /^The entities of the tenant 'acme' are those of its catalog engine.*DELETE \/api\/tenants\/acme\/engine$/,
        ),
      });
      await expect(rowsOf(acmeId)).resolves.toMatchObject({ entities: 0 });
    });

    it('goes on for the tenants without one', async () => {
      const globex = await registry.store.get('globex');
      await store.enable('acme', { by: BY });
      await expect(write(['a'], globex!.tenant_id)).resolves.toMatchObject({
        inserted: 1,
      });
      await expect(write([], DEFAULT_TENANT_ID)).resolves.toBeDefined();
    });

    it('wins or loses as a whole against enable at the same time', async () => {
      for (let round = 0; round < 10; round += 1) {
        await registry.empty();
        acmeId = (await registry.createTenant('acme')).tenant_id;
        const outcomes = await outcomesOf([
          write(['a', 'b']),
          store.enable('acme', { by: BY }),
        ]);
        expect(outcomes).toEqual(['ConflictError', 'done']);
        const { entities } = await rowsOf(acmeId);
        const hasEngine = (await store.get('acme')) !== undefined;
        expect(entities).toBe(hasEngine ? 0 : 2);
      }
    });

    it('waits for an enable that began before, and is refused', async () => {
      const { client } = registry.database;
      // The enable takes the lock of the entities, and then waits for the tenant's row.
      await client.query('begin');
      try {
        await client.query(
          `select from tenants where tenant_id = $1 for update`,
          [acmeId],
        );
        const enabling = store.enable('acme', { by: BY });
        const lockers = async (where: string) =>
          (
            await otherPool.query(knex =>
              knex.raw(
                `select from pg_locks where locktype = 'advisory' and ${where}
                    and database = (select oid from pg_database where datname = current_database())`,
              ),
            )
          ).length;
        await waitUntil(
          'the enable to have the lock',
          async () => (await lockers('granted')) === 1,
        );
        const writing = write(['a']).catch(error => error.name);
        await waitUntil(
          'the mutation to wait',
          async () => (await lockers('not granted')) === 1,
        );
        await client.query('commit');
        await expect(enabling).resolves.toMatchObject({ outcome: 'created' });
        await expect(writing).resolves.toBe('ConflictError');
      } finally {
        await client.query('rollback');
      }
    });
  });

  describe('disable', () => {
    it('leaves the entities, which are code’s from then on', async () => {
      await store.enable('acme', { by: BY });
      await registry.insertEntity(acmeId, 'carried');
      await expect(store.disable('acme')).resolves.toEqual({ kept: 1 });
      await expect(store.get('acme')).resolves.toBeUndefined();
      await expect(
        catalog.applyMutation(acmeId, {
          type: 'delta',
          added: [component('mine')],
          removed: [],
        }),
      ).resolves.toMatchObject({ inserted: 1 });
      await expect(rowsOf(acmeId)).resolves.toMatchObject({ entities: 2 });
    });

    it('forgets the configuration, and refuses a new engine until the earlier one is removed', async () => {
      await store.enable('acme', { by: BY });
      await store.putConfig('acme', CONFIG, { by: BY });
      await store.disable('acme');
      await expect(store.list()).resolves.toEqual([]);
      const { engines } = await listen();
      await expect(engines.listDisabled()).resolves.toEqual([
        { tenantId: acmeId },
      ]);
      await expect(
        store.enable('acme', { by: BY, replace: true }),
      ).rejects.toMatchObject({
        name: 'ConflictError',
        message: expect.stringContaining('still being removed'),
      });
      await store.finishDisable(acmeId);
      await expect(engines.listDisabled()).resolves.toEqual([]);
      await expect(store.enable('acme', { by: BY })).resolves.toMatchObject({
        outcome: 'created',
        engine: { catalogConfig: undefined, configUpdatedBy: undefined },
      });
      // Of an engine that feeds its tenant, there is nothing to forget.
      await store.finishDisable(acmeId);
      await expect(store.get('acme')).resolves.toBeDefined();
    });

    it('refuses a tenant that code feeds', async () => {
      await expect(store.disable('acme')).rejects.toMatchObject({
        name: 'NotFoundError',
        message: `The tenant 'acme' has no engine: code feeds it`,
      });
    });
  });

  describe('putConfig', () => {
    it('replaces the configuration, and says who did it and when', async () => {
      await store.enable('acme', { by: BY });
      await store.putConfig('acme', { integrations: {} }, { by: 'x' });
      await expect(
        store.putConfig('acme', CONFIG, { by: BY }),
      ).resolves.toMatchObject({
        catalogConfig: CONFIG,
        configUpdatedAt: expect.any(Date),
        configUpdatedBy: BY,
        createdBy: BY,
      });
    });

    it('refuses a tenant that code feeds', async () => {
      await expect(
        store.putConfig('acme', CONFIG, { by: BY }),
      ).rejects.toMatchObject({ name: 'NotFoundError' });
    });

    it.each([
      [
        'a NUL character',
        { catalog: { name: 'a\0' } },
        'catalog_config.catalog.name',
      ],
      [
        'a lone surrogate',
        { catalog: { list: ['\ud800'] } },
        'catalog_config.catalog.list.0',
      ],
      [
        'such a key',
        { catalog: { 'a\0': 1 } },
        'The keys of catalog_config.catalog',
      ],
    ])('refuses %s', async (_, config, where) => {
      await store.enable('acme', { by: BY });
      await expect(
        store.putConfig('acme', config, { by: BY }),
      ).rejects.toMatchObject({
        name: 'InputError',
        message: expect.stringContaining(where),
      });
    });
  });

  describe('pause', () => {
    it('says since when and by whom, and stays until the engine is resumed', async () => {
      await store.enable('acme', { by: BY });
      const paused = await store.pause('acme', { by: BY });
      expect(paused).toMatchObject({
        pausedAt: expect.any(Date),
        pausedBy: BY,
      });
      await store.putConfig('acme', CONFIG, { by: BY });
      await expect(store.pause('acme', { by: 'x' })).resolves.toMatchObject({
        pausedAt: paused.pausedAt,
        pausedBy: BY,
      });
      await expect(store.get('acme')).resolves.toMatchObject({ pausedBy: BY });
      for (let time = 1; time <= 2; time += 1) {
        await expect(store.resume('acme')).resolves.toMatchObject({
          pausedAt: undefined,
          pausedBy: undefined,
        });
      }
    });

    it('calls nobody where it changes nothing', async () => {
      await store.enable('acme', { by: BY });
      await store.pause('acme', { by: BY });
      changed.mockClear();
      await store.pause('acme', { by: BY });
      expect(changed).not.toHaveBeenCalled();
      await store.resume('acme');
      await store.resume('acme');
      expect(changed).toHaveBeenCalledTimes(1);
    });

    it('refuses a tenant that code feeds', async () => {
      for (const change of [
        () => store.pause('acme', { by: BY }),
        () => store.resume('acme'),
      ]) {
        await expect(change()).rejects.toMatchObject({
          name: 'NotFoundError',
        });
      }
    });
  });

  describe('a tenant that is created', () => {
    it('is fed by code', async () => {
      await expect(store.list()).resolves.toEqual([]);
    });

    it('has an engine from the beginning, if it is to', async () => {
      const { tenant_id } = await registry.store.create(
        { tenant_slug: 'initech', tenant_name: 'Initech' },
        { engine: { by: BY } },
      );
      await expect(store.get('initech')).resolves.toMatchObject({
        tenantId: tenant_id,
        createdBy: BY,
      });
    });

    it('is not created where its engine can’t be', async () => {
      const { client } = registry.database;
      await client.query(
        `alter table tenant_engines add constraint nobody check (created_by <> 'x')`,
      );
      try {
        await expect(
          registry.store.create(
            { tenant_slug: 'initech', tenant_name: 'Initech' },
            { engine: { by: 'x' } },
          ),
        ).rejects.toThrow();
      } finally {
        await client.query('alter table tenant_engines drop constraint nobody');
      }
      await expect(registry.store.get('initech')).resolves.toBeUndefined();
    });
  });

  describe('list', () => {
    it('has all tenants with an engine by slug, and tells which are deleted', async () => {
      await store.enable('globex', { by: BY });
      await store.enable('acme', { by: BY });
      await store.putConfig('acme', CONFIG, { by: BY });
      await registry.store.delete('globex');
      await expect(store.list()).resolves.toMatchObject([
        { tenantSlug: 'acme', isActive: true, catalogConfig: CONFIG },
        { tenantSlug: 'globex', isActive: false, catalogConfig: undefined },
      ]);
    });
  });

  describe('changes', () => {
    it.each<[string, () => Promise<unknown>]>([
      ['created', () => registry.createTenant('initech')],
      ['deleted', () => registry.store.delete('acme')],
      [
        'restored',
        async () => {
          await registry.store.delete('acme');
          await registry.store.restore('acme');
        },
      ],
      ['given an engine', () => store.enable('globex', { by: BY })],
      ['deprived of its engine', () => store.disable('acme')],
      ['configured', () => store.putConfig('acme', CONFIG, { by: BY })],
      ['paused', () => store.pause('acme', { by: BY })],
      [
        'resumed',
        async () => {
          await store.pause('acme', { by: BY });
          await store.resume('acme');
        },
      ],
    ])('are heard in every process when a tenant is %s', async (_, change) => {
      await store.enable('acme', { by: BY });
      const { engines, calls } = await listen();
      calls.mockClear();
      await change();
      await waitUntil('the call', () => calls.mock.calls.length > 0);
      await expect(engines.list()).resolves.toEqual(await store.list());
    });

    it('are no longer heard after the end', async () => {
      const { engines, calls, stop } = await listen();
      stop();
      calls.mockClear();
      engines.changed();
      expect(calls).not.toHaveBeenCalled();
    });

    it('are asked about from time to time where nothing can be heard', async () => {
      const listener = new ChangeListener({
        ...TIMING,
        pool: otherPool,
        logger: mockLogger(),
      });
      await listener.close();
      const engines = new ListeningTenantEngines({
        pool: otherPool,
        listener,
        timing: { hearingMs: 3_600_000, deafMs: 1 },
      });
      const calls = jest.fn();
      const stop = engines.onChange(calls);
      await waitUntil('two calls', () => calls.mock.calls.length > 1);
      stop();
      expect(listener.hears).toBe(false);
    });
  });
});

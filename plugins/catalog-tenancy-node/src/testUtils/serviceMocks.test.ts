import {
  createBackendPlugin,
  type ServiceRef,
} from '@backstage/backend-plugin-api';
import { startTestBackend } from '@backstage/backend-test-utils';
import type { Entity } from '@backstage/catalog-model';
import {
  catalogStoreServiceRef,
  DEFAULT_TENANT_ID,
  tenantDatabaseServiceRef,
  tenantDirectoryServiceRef,
  tenantStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  catalogStoreServiceMock,
  tenantDatabaseServiceMock,
  tenantDirectoryServiceMock,
  tenantStoreServiceMock,
} from './index';

const TENANT = '11111111-1111-4111-8111-111111111111';
const OTHER = '22222222-2222-4222-8222-222222222222';

function component(name: string, rest: Partial<Entity> = {}): Entity {
  return {
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Component',
    metadata: { name, tags: ['java'] },
    ...rest,
  };
}

const full = (...entities: Entity[]) => ({ type: 'full', entities } as const);

/** What a plugin gets that depends on a service. */
async function serviceOf<T>(
  ref: ServiceRef<T, 'root' | 'plugin'>,
  feature: Parameters<typeof startTestBackend>[0]['features'],
): Promise<T> {
  let found: T | undefined;
  await startTestBackend({
    features: [
      ...(feature ?? []),
      createBackendPlugin({
        pluginId: 'example',
        register(env) {
          env.registerInit({
            deps: { service: ref },
            async init({ service }) {
              found = service as T;
            },
          });
        },
      }),
    ],
  });
  return found!;
}

describe('catalogStoreServiceMock', () => {
  it('takes the place of the service', async () => {
    const store = catalogStoreServiceMock();
    await expect(
      serviceOf(catalogStoreServiceRef, [
        catalogStoreServiceMock.factory({ store }),
      ]),
    ).resolves.toBe(store);
  });

  it('keeps tenants apart that have the same entity refs', async () => {
    const store = catalogStoreServiceMock();
    await store.applyMutation(TENANT, full(component('a')));
    await store.applyMutation(
      OTHER,
      full(component('a', { spec: { type: 'b' } })),
    );
    const ref = 'component:default/a';
    const [own, others] = await Promise.all([
      store.getEntity(TENANT, ref),
      store.getEntity(OTHER, 'Component:A'),
    ]);
    expect(own?.spec).toBeUndefined();
    expect(others?.spec).toEqual({ type: 'b' });
    expect(own?.metadata.uid).not.toEqual(others?.metadata.uid);
  });

  it('counts what a mutation does', async () => {
    const store = catalogStoreServiceMock();
    const apply = (...entities: Entity[]) =>
      store.applyMutation(TENANT, full(...entities));
    const none = {
      inserted: 0,
      updated: 0,
      revived: 0,
      unchanged: 0,
      deleted: 0,
    };
    await expect(apply(component('a'), component('b'))).resolves.toEqual({
      ...none,
      inserted: 2,
    });
    const before = await store.getEntity(TENANT, 'component:default/b');
    await expect(
      apply(component('a', { spec: {} }), component('b')),
    ).resolves.toEqual({ ...none, updated: 1, unchanged: 1 });
    await expect(apply(component('a', { spec: {} }))).resolves.toEqual({
      ...none,
      unchanged: 1,
      deleted: 1,
    });
    await expect(
      store.applyMutation(TENANT, {
        type: 'delta',
        added: [component('b')],
        removed: [{ entityRef: 'Component:A' }, { entityRef: 'component:c' }],
      }),
    ).resolves.toEqual({ ...none, revived: 1, deleted: 1 });
    await expect(
      store.getEntity(TENANT, 'component:default/b'),
    ).resolves.toEqual(before);
  });

  it('keeps nothing of a mutation that fails', async () => {
    const store = catalogStoreServiceMock();
    await store.applyMutation(TENANT, {
      ...full(component('b')),
      source: 'one',
    });
    await expect(
      store.applyMutation(TENANT, {
        ...full(component('a'), component('b')),
        source: 'other',
      }),
    ).rejects.toThrow("'component:default/b' belongs to another source");
    await expect(store.queryEntities(TENANT)).resolves.toHaveLength(1);
  });

  it('lists the newest first, and queries by filter, order and page', async () => {
    const store = catalogStoreServiceMock();
    await store.applyMutation(
      TENANT,
      full(
        component('c', { spec: { type: 'library' } }),
        component('a', { spec: { type: 'Service' } }),
        component('b', {
          relations: [{ type: 'ownedBy', targetRef: 'group:default/x' }],
        }),
      ),
    );
    const names = (entities: Entity[]) =>
      entities.map(({ metadata }) => metadata.name);
    const query = async (options: Parameters<typeof store.queryEntities>[1]) =>
      names(await store.queryEntities(TENANT, options));

    await expect(store.listEntities(TENANT, 'COMPONENT', 2)).resolves.toEqual([
      expect.objectContaining({ entity_name: 'b' }),
      expect.objectContaining({ entity_ref: 'component:default/a' }),
    ]);
    await expect(query({})).resolves.toEqual(['a', 'b', 'c']);
    await expect(query({ limit: 1, offset: 1 })).resolves.toEqual(['b']);
    await expect(query({ afterRef: 'component:default/a' })).resolves.toEqual([
      'b',
      'c',
    ]);
    await expect(
      query({ order: [{ field: 'spec.type', order: 'desc' }] }),
    ).resolves.toEqual(['a', 'c', 'b']);
    for (const [filter, expected] of [
      [{ 'spec.type': 'service' }, ['a']],
      [{ 'metadata.tags.java': 'true' }, ['a', 'b', 'c']],
      [{ 'spec.type': { $exists: false } }, ['b']],
      [{ 'spec.type': { $in: ['LIBRARY'] } }, ['c']],
      [{ 'metadata.name': { $hasPrefix: 'B' } }, ['b']],
      [{ 'relations.ownedBy': 'group:default/x' }, ['b']],
      [
        {
          relations: {
            $contains: { type: 'ownedBy', targetRef: 'group:default/x' },
          },
        },
        ['b'],
      ],
      [{ $not: { $any: [{ 'metadata.name': 'a' }] } }, ['b', 'c']],
    ] as const) {
      await expect(query({ filter: filter as never })).resolves.toEqual(
        expected,
      );
    }
    await expect(
      store.getEntitiesByRefs(
        TENANT,
        ['component:default/c', 'component:default/a'],
        { filter: { 'spec.type': 'service' } },
      ),
    ).resolves.toEqual([null, expect.objectContaining({ kind: 'Component' })]);
  });

  it('refuses what is no tenant id', async () => {
    const store = catalogStoreServiceMock();
    await expect(store.queryEntities('acme')).rejects.toThrow(
      "Invalid tenant id 'acme', expected a UUID",
    );
  });

  it('offers operations that are jest.fn()s', async () => {
    const store = catalogStoreServiceMock.mock({
      getEntity: async () => component('a'),
    });
    await expect(store.getEntity(TENANT, 'x')).resolves.toEqual(component('a'));
    await store.queryEntities(TENANT);
    expect(store.queryEntities).toHaveBeenCalledWith(TENANT);
  });
});

describe('tenantStoreServiceMock', () => {
  it('takes the place of the service', async () => {
    const store = tenantStoreServiceMock();
    await expect(
      serviceOf(tenantStoreServiceRef, [
        tenantStoreServiceMock.factory({ store }),
      ]),
    ).resolves.toBe(store);
  });

  it('is a registry, and the directory to it', async () => {
    const store = tenantStoreServiceMock();
    const acme = await store.create({
      tenant_slug: 'acme',
      tenant_name: 'Acme',
    });
    expect(acme).toMatchObject({ max_entities: 50_000, entity_ttl_days: 365 });
    await expect(
      store.create({ tenant_slug: 'acme', tenant_name: 'Again' }),
    ).rejects.toThrow("'acme' is taken");
    await expect(store.update('acme', { max_entities: 1 })).resolves.toEqual({
      ...acme,
      max_entities: 1,
      updated_at: expect.any(String),
    });
    const active = { tenantId: acme.tenant_id, tenantSlug: 'acme' };
    await expect(store.findActive('acme')).resolves.toEqual(active);

    await store.delete('acme');
    await expect(store.findActive('acme')).resolves.toBeUndefined();
    await expect(store.list()).resolves.toMatchObject({
      items: [{ tenant_id: DEFAULT_TENANT_ID }],
      totalItems: 1,
    });
    await expect(store.list({ deleted: true })).resolves.toMatchObject({
      items: [{ tenant_slug: 'acme' }, { tenant_slug: 'default' }],
    });
    await store.restore('acme');
    await expect(store.findActive('acme')).resolves.toEqual(active);

    await expect(store.delete('default')).rejects.toThrow(/cannot be deleted/);
    await expect(store.usage('none')).rejects.toThrow(/no tenant 'none'/);
    await expect(store.usage('acme')).resolves.toMatchObject({
      live_entities: 0,
      max_entities: 1,
    });
  });

  it('offers operations that are jest.fn()s', async () => {
    const store = tenantStoreServiceMock.mock();
    await store.delete('acme');
    expect(store.delete).toHaveBeenCalledWith('acme');
  });
});

describe('tenantDirectoryServiceMock', () => {
  const acme = { tenantId: TENANT, tenantSlug: 'acme' };

  it('takes the place of the service, and knows the given tenants only', async () => {
    const directory = await serviceOf(tenantDirectoryServiceRef, [
      tenantDirectoryServiceMock.factory({ tenants: [acme] }),
    ]);
    await expect(directory.findActive('acme')).resolves.toEqual(acme);
    await expect(directory.findActive('default')).resolves.toBeUndefined();
  });

  it('knows the default tenant otherwise', async () => {
    const directory = tenantDirectoryServiceMock();
    await expect(directory.findActive('default')).resolves.toEqual({
      tenantId: DEFAULT_TENANT_ID,
      tenantSlug: 'default',
    });
  });

  it('offers operations that are jest.fn()s', async () => {
    const directory = tenantDirectoryServiceMock.mock({
      findActive: async () => acme,
    });
    await expect(directory.findActive('x')).resolves.toEqual(acme);
    directory.forget('x');
    expect(directory.forget).toHaveBeenCalledWith('x');
  });
});

describe('tenantDatabaseServiceMock', () => {
  it('puts a database in the place of the service', async () => {
    const database = tenantDatabaseServiceMock.mock({
      query: async () => [],
    });
    const service = await serviceOf(tenantDatabaseServiceRef, [
      tenantDatabaseServiceMock.factory({ database }),
    ]);
    await expect(
      service.query(TENANT, scope => scope.table('entities')),
    ).resolves.toEqual([]);
    expect(database.query).toHaveBeenCalledTimes(1);
  });
});

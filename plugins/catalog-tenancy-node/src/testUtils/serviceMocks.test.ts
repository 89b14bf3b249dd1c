import {
  createBackendPlugin,
  type ServiceRef,
} from '@backstage/backend-plugin-api';
import { startTestBackend } from '@backstage/backend-test-utils';
import type { Entity } from '@backstage/catalog-model';
import {
  type CatalogStore,
  DEFAULT_TENANT_ID,
  tenantDatabaseServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import {
  catalogStoreServiceMock,
  tenantDatabaseServiceMock,
  tenantDirectoryServiceMock,
  tenantStoreServiceMock,
} from './index';

const TENANT = '11111111-1111-4111-8111-111111111111';
const OTHER = '22222222-2222-4222-8222-222222222222';
const NOBODY = '33333333-3333-4333-8333-333333333333';

function component(name: string, rest: Partial<Entity> = {}): Entity {
  return {
    apiVersion: 'backstage.io/v1alpha1',
    kind: 'Component',
    metadata: { name, tags: ['java'] },
    ...rest,
  };
}

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
  const entities = {
    [TENANT]: [
      component('a', { spec: { type: 'Service' } }),
      component('b'),
      { ...component('a'), kind: 'API' },
    ],
    [OTHER]: [component('a', { spec: { type: 'other' } })],
  };
  const kindsAndNames = (found: Entity[]) =>
    found.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

  it('has the entities of each tenant, by ref', async () => {
    const store = catalogStoreServiceMock({ entities });
    const ref = 'Component:A';
    await expect(store.getEntity(TENANT, ref)).resolves.toEqual(
      entities[TENANT][0],
    );
    await expect(store.getEntity(OTHER, ref)).resolves.toEqual(
      entities[OTHER][0],
    );
    await expect(store.getEntity(NOBODY, ref)).resolves.toBeUndefined();
    await expect(
      store.readEntitiesByRefs(TENANT, ['component:b', 'component:c']),
    ).resolves.toEqual([JSON.stringify(entities[TENANT][1]), null]);
  });

  it('lists them by kind, all of them, or by plain equality', async () => {
    const store = catalogStoreServiceMock({ entities });
    await expect(store.listEntities(TENANT, 'COMPONENT', 1)).resolves.toEqual([
      {
        entity_ref: 'component:default/a',
        entity_name: 'a',
        created_at: expect.any(Date),
      },
    ]);
    const query = async (options: Parameters<typeof store.queryEntities>[1]) =>
      kindsAndNames(await store.queryEntities(TENANT, options));
    await expect(query({})).resolves.toEqual([
      'Component a',
      'Component b',
      'API a',
    ]);
    await expect(query({ limit: 1, offset: 1 })).resolves.toEqual([
      'Component b',
    ]);
    await expect(
      query({ filter: { kind: 'component', 'spec.type': 'service' } }),
    ).resolves.toEqual(['Component a']);
  });

  it('gives out copies', async () => {
    const store = catalogStoreServiceMock({ entities });
    const [given] = await store.queryEntities(OTHER);
    given.metadata.name = 'changed';
    await expect(store.queryEntities(OTHER)).resolves.toEqual(entities[OTHER]);
  });

  it.each<[string, (store: CatalogStore) => Promise<unknown>]>([
    [
      'the filter {"$not":{"kind":"a"}}',
      store => store.queryEntities(TENANT, { filter: { $not: { kind: 'a' } } }),
    ],
    [
      'the filter {"kind":{"$in":["a"]}}',
      store =>
        store.queryEntities(TENANT, { filter: { kind: { $in: ['a'] } } }),
    ],
    [
      'an order or afterRef',
      store =>
        store.readEntities(TENANT, { order: [{ field: 'a', order: 'asc' }] }),
    ],
    ['readPage', store => store.readPage(TENANT, { limit: 1 })],
    ['countFacets', store => store.countFacets(TENANT, { facets: ['kind'] })],
    ['getAncestry', store => store.getAncestry(TENANT, 'component:a')],
  ])('says that it does not do %s', async (what, ask) => {
    await expect(ask(catalogStoreServiceMock({ entities }))).rejects.toThrow(
      expect.objectContaining({
        name: 'NotImplementedError',
        message: expect.stringContaining(
          `The mock of the catalog store does not do ${what}:`,
        ),
      }),
    );
  });
});

describe('tenantStoreServiceMock', () => {
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
});

describe('tenantDirectoryServiceMock', () => {
  it('knows the default tenant otherwise', async () => {
    const directory = tenantDirectoryServiceMock();
    await expect(directory.findActive('default')).resolves.toEqual({
      tenantId: DEFAULT_TENANT_ID,
      tenantSlug: 'default',
    });
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

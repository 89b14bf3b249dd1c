import type { FilterPredicate } from '@backstage/filter-predicates';
import {
  createTestDatabases,
  writeEntities,
} from '@internal/postgres/testUtils';
import { PooledTenantDatabase } from '../database/PooledTenantDatabase';
import {
  type TenantDatabase,
  type TenantScope,
} from '../database/TenantDatabase';
import {
  type CatalogDatabase,
  component,
  createCatalogDatabase,
} from './__testUtils__/catalogDatabase';
import type {
  CatalogStore,
  EntityOrder,
  EntityPageQuery,
} from './CatalogStore';
import { PostgresCatalogStore } from './PostgresCatalogStore';

/** A database whose statements lack the predicate on the tenant. */
function withoutPredicate(database: TenantDatabase): TenantDatabase {
  const strip = <T extends TenantScope>(scope: T): T => ({
    ...scope,
    tenantId: scope.tenantId,
    knex: scope.knex,
    table: (table, alias = table) => scope.knex({ [alias]: table }),
  });
  return {
    query: (tenantId, build) =>
      database.query(tenantId, scope => build(strip(scope))),
    transaction: (tenantId, work) =>
      database.transaction(tenantId, transaction =>
        work({
          ...strip(transaction),
          query: statement => transaction.query(statement),
        }),
      ),
  };
}

const ALPHA = 'component:default/alpha';

describe('isolation of the catalog store', () => {
  const databases = createTestDatabases({ citus: true });

  describe.each(databases.eachSupportedId())('on %p', id => {
    let catalog: CatalogDatabase;
    let ours: string;
    let theirs: string;
    let unbound: TenantDatabase;

    const entitiesOf = (tenant: string) =>
      ['alpha', 'beta'].map(name =>
        component(name, {
          spec: { tenant, type: 'service' },
          relations: [{ type: 'ownedBy', targetRef: `group:default/g` }],
        }),
      );
    beforeAll(async () => {
      catalog = await createCatalogDatabase(databases, id);
      unbound = new PooledTenantDatabase(
        catalog.createPool({ connection: catalog.connection }),
      );
    });

    beforeEach(async () => {
      [ours, theirs] = [
        await catalog.createTenant(),
        await catalog.createTenant(),
      ];
      for (const tenant of [ours, theirs]) {
        await writeEntities(catalog.database, tenant, {
          type: 'full',
          entities: entitiesOf(tenant),
        });
      }
    });

    afterAll(() => catalog?.close());

    const ways: [string, () => TenantDatabase][] = [
      ['by predicate and policy', () => catalog.database],
      ['by the policy alone', () => withoutPredicate(catalog.database)],
      // Policies do not bind a superuser.
      ['by the predicate alone', () => unbound],
    ];
    // Without the predicate, Citus refuses joins as such of all tenants (0A000): there
    // `database/isolation.test.ts` tries the policy alone, by single tables.
    const possible = ways.filter(
      ([name]) => id !== 'CITUS' || name !== 'by the policy alone',
    );
    describe.each(possible)('%s', (_, open) => {
      let store: CatalogStore;

      beforeEach(() => {
        store = new PostgresCatalogStore({ database: open() });
      });

      it('reads the entities of the tenant where another has the same refs', async () => {
        const tenant = { spec: { tenant: ours } };
        await expect(store.getEntity(ours, ALPHA)).resolves.toMatchObject(
          tenant,
        );
        await expect(
          store.listEntities(ours, 'component'),
        ).resolves.toHaveLength(2);
        await expect(
          store.queryEntities(ours, {
            filter: { 'relations.ownedBy': 'group:default/g' },
            order: [{ field: 'spec.type', order: 'asc' }],
          }),
        ).resolves.toMatchObject([tenant, tenant]);
        await expect(
          store.getEntitiesByRefs(ours, [ALPHA, 'component:default/beta']),
        ).resolves.toMatchObject([tenant, tenant]);
      });

      it('finds nothing that another tenant alone has', async () => {
        await writeEntities(catalog.database, ours, {
          type: 'full',
          entities: [],
        });
        const { metadata } = (await catalog.store.getEntity(theirs, ALPHA))!;
        await expect(store.getEntity(ours, ALPHA)).resolves.toBeUndefined();
        await expect(store.listEntities(ours, 'component')).resolves.toEqual(
          [],
        );
        const filters: FilterPredicate[] = [
          { kind: 'component' },
          { 'metadata.uid': metadata.uid! },
          { $not: { 'spec.type': 'library' } },
          { $any: [{ 'spec.tenant': theirs }, { 'metadata.name': 'alpha' }] },
        ];
        for (const filter of filters) {
          await expect(store.queryEntities(ours, { filter })).resolves.toEqual(
            [],
          );
        }
        await expect(store.getEntitiesByRefs(ours, [ALPHA])).resolves.toEqual([
          null,
        ]);
      });

      const queries: EntityPageQuery[] = [
        { limit: 10 },
        { limit: 10, order: { field: 'metadata.name', order: 'asc' } },
        { limit: 10, order: { field: 'spec.type', order: 'desc' } },
        { limit: 10, fullText: { term: 'a', fields: ['metadata.name'] } },
        {
          limit: 10,
          order: { field: 'metadata.name', order: 'asc' },
          fullText: { term: 'a' },
        },
        { limit: 10, filter: { 'spec.type': 'service' } },
        { limit: 10, filter: { 'metadata.name': { $hasPrefix: 'a' } } },
        { limit: 10, filter: { $not: { 'spec.type': 'library' } } },
        {
          limit: 10,
          filter: {
            $any: [{ 'spec.type': 'service' }, { 'metadata.name': 'beta' }],
          },
        },
        {
          limit: 10,
          order: { field: 'metadata.name', order: 'asc' },
          filter: {
            $any: [
              { $not: { 'spec.type': 'service' } },
              { 'metadata.name': { $in: ['alpha', 'beta'] } },
            ],
          },
        },
      ];

      it.each(queries)(
        'reads and counts the page %j of the tenant alone',
        async query => {
          const read = () => store.readPage(ours, { ...query, total: true });
          const { rows, totalItems } = await read();
          expect(rows.length).toBeGreaterThan(0);
          expect(totalItems).toBe(rows.length);
          expect(rows.map(({ json }) => JSON.parse(json))).toEqual(
            rows.map(() =>
              expect.objectContaining({
                spec: { tenant: ours, type: 'service' },
              }),
            ),
          );
          await writeEntities(catalog.database, ours, {
            type: 'full',
            entities: [],
          });
          await expect(read()).resolves.toEqual({ rows: [], totalItems: 0 });
        },
      );

      it('counts the facets of the tenant alone', async () => {
        const facets = ['spec.tenant', 'kind'];
        const expected = {
          'spec.tenant': [{ value: ours, count: 2 }],
          kind: [{ value: 'Component', count: 2 }],
        };
        const filters: Array<FilterPredicate | undefined> = [
          undefined,
          { 'spec.type': 'service' },
          { $not: { 'spec.type': 'library' } },
        ];
        for (const filter of filters) {
          await expect(
            store.countFacets(ours, { facets, filter }),
          ).resolves.toEqual(expected);
        }
      });

      it.each<EntityOrder[][]>([
        [[{ field: 'spec.type', order: 'asc' }]],
        [[{ field: 'none', order: 'asc' }]],
        [
          [
            { field: 'spec.type', order: 'asc' },
            { field: 'metadata.name', order: 'desc' },
          ],
        ],
      ])(
        'lists the entities of the tenant alone, in the order %j',
        async order => {
          await expect(
            store.queryEntities(ours, { order, limit: 10 }),
          ).resolves.toMatchObject([
            { spec: { tenant: ours } },
            { spec: { tenant: ours } },
          ]);
        },
      );

      it('answers each tenant by itself where they ask the same at the same moment', async () => {
        const query = { limit: 10, filter: { 'spec.type': 'service' } };
        const reads: Array<(tenant: string) => Promise<unknown>> = [
          async tenant => {
            const { rows } = await store.readPage(tenant, query);
            return rows.map(({ json }) => JSON.parse(json).spec.tenant);
          },
          async tenant => {
            const listed = await store.readEntities(tenant, query);
            return listed.map(json => JSON.parse(json).spec.tenant);
          },
          async tenant => {
            const facets = ['spec.tenant'];
            const counts = await store.countFacets(tenant, { facets });
            return counts['spec.tenant'].flatMap(({ value, count }) =>
              Array(count).fill(value),
            );
          },
          async tenant => {
            const refs = [ALPHA, 'component:default/beta'];
            const found = await store.getEntitiesByRefs(tenant, refs);
            return found.map(entity => entity?.spec?.tenant);
          },
          async tenant => {
            const ancestry = await store.getAncestry(tenant, ALPHA);
            const [{ entity }] = ancestry!.items;
            return [entity.spec?.tenant, tenant];
          },
        ];
        // Whoever comes third would share the read of who came second.
        const tenants = [ours, theirs, ours, theirs, ours];
        for (const read of reads) {
          await expect(Promise.all(tenants.map(read))).resolves.toEqual(
            tenants.map(tenant => [tenant, tenant]),
          );
        }
      });

      it('takes no term of an entity that has the same id in another tenant', async () => {
        const { metadata } = (await catalog.store.getEntity(ours, ALPHA))!;
        await catalog.adopt(theirs, [
          {
            name: 'other',
            entityId: metadata.uid,
            finalEntity:
              '{"kind":"API","metadata":{},"spec":{"only":"theirs","type":"first"}}',
          },
        ]);
        const byName: EntityOrder = { field: 'metadata.name', order: 'asc' };
        const only: FilterPredicate = { 'spec.only': 'theirs' };
        const fullText = { term: 'their', fields: ['spec.only'] };
        const none: Array<Partial<EntityPageQuery>> = [
          { filter: only },
          { filter: { kind: 'component', ...only } },
          { filter: only, order: byName },
          { filter: { 'spec.only': { $exists: true } }, order: byName },
          { filter: { $any: [only, { 'spec.only': { $hasPrefix: 't' } }] } },
          { filter: { $any: [only, { $not: { kind: 'component' } }] } },
          { order: { field: 'spec.only', order: 'asc' } },
          { fullText },
          { fullText, order: byName },
          { filter: { kind: 'component' }, fullText },
        ];
        const both: Array<Partial<EntityPageQuery>> = [
          { filter: { $not: only } },
          { filter: { $not: only }, order: byName },
          { order: byName },
          { filter: { kind: 'component' }, order: byName },
        ];
        for (const [queriesOf, count] of [
          [none, 0],
          [both, 2],
        ] as const) {
          for (const query of queriesOf) {
            const { rows, totalItems } = await store.readPage(ours, {
              ...query,
              limit: 10,
              total: true,
            });
            expect({ query, rows: rows.length, totalItems }).toEqual({
              query,
              rows: count,
              totalItems: count,
            });
          }
        }
        // Nor does it get a name from there.
        const named = (await catalog.store.getEntity(theirs, ALPHA))!;
        await catalog.adopt(ours, [
          {
            name: 'nameless',
            entityId: named.metadata.uid,
            finalEntity: '{"metadata":{}}',
          },
        ]);
        for (const filter of [undefined, { 'metadata.namespace': 'default' }]) {
          await expect(
            store.readPage(ours, {
              filter,
              order: byName,
              limit: 0,
              total: true,
            }),
          ).resolves.toEqual({ rows: [], totalItems: 2 });
        }
        // Nor another place in an order.
        const byType: EntityOrder = { field: 'spec.type', order: 'asc' };
        for (const order of [
          [byType],
          [byType, { ...byName, order: 'desc' as const }],
        ]) {
          const listed = await store.queryEntities(ours, { order, limit: 10 });
          const names = listed.map(entity => entity.metadata.name);
          expect(order.length === 1 ? names.sort() : names).toEqual(
            order.length === 1
              ? ['alpha', 'beta', undefined]
              : ['beta', 'alpha', undefined],
          );
        }
        const facets = ['spec.only'];
        for (const filter of [undefined, { kind: 'component' }]) {
          await expect(
            store.countFacets(ours, { facets, filter }),
          ).resolves.toEqual({ 'spec.only': [] });
        }
        await expect(
          store.readEntitiesByRefs(ours, [ALPHA], { filter: only }),
        ).resolves.toEqual([null]);
        for (const order of [
          [{ field: 'spec.only', order: 'asc' as const }],
          [{ field: 'spec.only', order: 'asc' as const }, byName],
        ]) {
          const listed = await store.queryEntities(ours, { order, limit: 10 });
          // The nameless one says nothing of its id.
          const ids = listed.flatMap(({ metadata: { uid } }) => uid ?? []);
          const names = listed.map(entity => entity.metadata.name);
          const sorted = order.length === 1 ? ids : names.slice(0, 2);
          expect(sorted).toEqual([...sorted].sort());
          expect(sorted.length).toBeGreaterThan(1);
        }
      });

      it('goes on after a ref as the tenant spells it, not as another does', async () => {
        await catalog.adopt(theirs, [
          { kind: 'Component', name: 'alpha', finalEntity: '{}' },
        ]);
        await expect(
          store.queryEntities(ours, { afterRef: 'Component:default/alpha' }),
        ).resolves.toMatchObject([{ metadata: { name: 'beta' } }]);
      });

      it('finds the ancestors in the tenant alone', async () => {
        const parent = async (tenant: string, ref: string) =>
          catalog.client.query(
            `insert into entity_parents (tenant_id, entity_ref, parent_entity_ref)
             values ($1, $2, $3)`,
            [tenant, ref, 'component:default/beta'],
          );
        await parent(theirs, ALPHA);
        const refs = async (tenant: string) => {
          const { items } = (await store.getAncestry(tenant, ALPHA))!;
          return items.map(({ entity, parentEntityRefs }) => [
            entity.spec?.tenant,
            entity.metadata.name,
            parentEntityRefs,
          ]);
        };
        await expect(refs(ours)).resolves.toEqual([[ours, 'alpha', []]]);
        await parent(ours, ALPHA);
        await expect(refs(ours)).resolves.toEqual([
          [ours, 'alpha', ['component:default/beta']],
          [ours, 'beta', []],
        ]);
      });
    });
  });
});

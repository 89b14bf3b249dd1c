import type { FilterPredicate } from '@backstage/filter-predicates';
import { createTestDatabases } from '@internal/postgres/testUtils';
import type { TenantDatabase, TenantScope } from '../database';
import {
  component,
  createCatalogDatabase,
} from './__testUtils__/catalogDatabase';
import type { CatalogDatabase } from './__testUtils__/catalogDatabase';
import type { CatalogStore } from './CatalogStore';
import { PostgresCatalogStore } from './PostgresCatalogStore';

/** A database whose statements lack the predicate on the tenant. */
function withoutPredicate(database: TenantDatabase): TenantDatabase {
  const strip = <T extends TenantScope>(scope: T): T => ({
    ...scope,
    tenantId: scope.tenantId,
    knex: scope.knex,
    insertInto: scope.insertInto,
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
  const databases = createTestDatabases();

  describe.each(databases.eachSupportedId())('on %p', id => {
    let catalog: CatalogDatabase;
    let ours: string;
    let theirs: string;

    const entitiesOf = (tenant: string) =>
      ['alpha', 'beta'].map(name =>
        component(name, {
          spec: { tenant, type: 'service' },
          relations: [{ type: 'ownedBy', targetRef: `group:default/g` }],
        }),
      );
    const rowsOf = async (tenantId: string) => {
      const { rows } = await catalog.client.query(
        `select to_jsonb(e) as row, e.xmin::text from entities e where tenant_id = $1
         union all select to_jsonb(r), r.xmin::text from relations r where tenant_id = $1
         union all select to_jsonb(s), s.xmin::text from refresh_state s where tenant_id = $1
         order by 1`,
        [tenantId],
      );
      return rows;
    };

    beforeAll(async () => {
      catalog = await createCatalogDatabase(databases, id);
    });

    beforeEach(async () => {
      [ours, theirs] = [
        await catalog.createTenant(),
        await catalog.createTenant(),
      ];
      for (const tenant of [ours, theirs]) {
        await catalog.store.applyMutation(tenant, {
          type: 'full',
          entities: entitiesOf(tenant),
        });
      }
    });

    afterAll(() => catalog?.close());

    describe.each<[string, (database: TenantDatabase) => TenantDatabase]>([
      ['with the predicate', database => database],
      ['by the policy alone', withoutPredicate],
    ])('%s', (_, change) => {
      let store: CatalogStore;

      beforeEach(() => {
        store = new PostgresCatalogStore({
          database: change(catalog.database),
          pool: catalog.pool,
        });
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
        await catalog.store.applyMutation(ours, { type: 'full', entities: [] });
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

      it.each([
        [
          'adds, changes and leaves alone',
          () =>
            store.applyMutation(ours, {
              type: 'full',
              entities: [
                entitiesOf(ours)[0],
                component('beta', { spec: { changed: true } }),
                component('gamma'),
              ],
            }),
        ],
        [
          'deletes and revives',
          async () => {
            await store.applyMutation(ours, { type: 'full', entities: [] });
            await store.applyMutation(ours, {
              type: 'full',
              entities: entitiesOf(ours),
            });
          },
        ],
        [
          'removes by ref',
          () =>
            store.applyMutation(ours, {
              type: 'delta',
              added: [],
              removed: [{ entityRef: ALPHA }],
            }),
        ],
      ])(
        'leaves each row of the other tenant as it is: %s',
        async (_title, use) => {
          const before = await rowsOf(theirs);
          expect(before).toHaveLength(6);
          await use();
          await expect(rowsOf(theirs)).resolves.toEqual(before);
        },
      );

      it('counts the entities of the tenant alone', async () => {
        await catalog.client.query(
          'update tenants set max_entities = 3 where tenant_id = $1',
          [ours],
        );
        const add = (name: string) =>
          store.applyMutation(ours, {
            type: 'delta',
            added: [component(name)],
            removed: [],
          });
        await add('gamma');
        await expect(add('delta')).rejects.toThrow('would have 4 entities');
      });
    });
  });
});

import { randomUUID } from 'node:crypto';
import type { Entity } from '@backstage/catalog-model';
import type { FilterPredicate } from '@backstage/filter-predicates';
import {
  createTestDatabases,
  waitUntil,
  writeEntities,
} from '@internal/postgres/testUtils';
import type { Knex } from 'knex';
import {
  type CatalogDatabase,
  component,
  createCatalogDatabase,
} from './__testUtils__/catalogDatabase';
import type { TenantDatabase, TenantScope } from '../database/TenantDatabase';
import { FirstReadHeld } from './__testUtils__/FirstReadHeld';
import type { CatalogStore, EntityPageQuery } from './CatalogStore';
import { readFilter } from './conditions';
import { PostgresCatalogStore } from './PostgresCatalogStore';
import { selectEntities } from './reads/list';
import { selectNewest } from './reads/others';
import { planPage, selectPage } from './reads/page';
import { MOST_MATCHES, shortPage } from './reads/shortPage';

function names(entities: Array<Entity | null>): Array<string | undefined> {
  return entities.map(entity => entity?.metadata.name);
}

const longPage = (scope: TenantScope, query: EntityPageQuery) =>
  selectPage(scope, planPage(query), query);

describe('reads of PostgresCatalogStore', () => {
  const databases = createTestDatabases({ citus: true });

  describe.each(databases.eachSupportedId())('on %p', id => {
    // On Citus, a plan is that of a node, and a lock of a read is taken there.
    const itOnOneServer = id === 'CITUS' ? it.skip : it;
    let catalog: CatalogDatabase;
    let tenantId: string;

    const write = (...entities: Entity[]) =>
      writeEntities(catalog.database, tenantId, { type: 'full', entities });

    /** A session with an old snapshot keeps VACUUM from marking pages as visible to everybody. */
    const vacuum = (table: string) =>
      waitUntil(`most pages of ${table} are visible to everybody`, async () => {
        // The commit may not be on disk yet.
        await catalog.client.query('checkpoint');
        await catalog.client.query(`vacuum (analyze) ${table}`);
        const { rows } = await catalog.client.query(
          `select sum(c.relallvisible) > 0.8 * sum(c.relpages) as visible
             from pg_class c where c.oid in (select relid from pg_partition_tree($1::regclass)
                                             union select $1::regclass)`,
          [table],
        );
        return rows[0].visible;
      });
    const planOf = async (
      build: (scope: TenantScope) => Knex.QueryBuilder | Knex.Raw,
    ) => {
      const [row] = await catalog.database.query<Record<string, unknown>>(
        tenantId,
        scope => scope.knex.raw('explain (format json) ?', [build(scope)]),
      );
      return JSON.stringify(Object.values(row)[0]);
    };

    beforeAll(async () => {
      catalog = await createCatalogDatabase(databases, id);
    });

    beforeEach(async () => {
      tenantId = await catalog.createTenant();
    });

    afterAll(() => catalog?.close());

    describe('getEntity', () => {
      it('returns the final_entity of the live entity with the ref, in any case', async () => {
        await write(component('Alpha', { spec: { type: 'service' } }));
        const expected = {
          ...component('Alpha', { spec: { type: 'service' } }),
          metadata: {
            name: 'Alpha',
            uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
            etag: expect.stringMatching(/^[0-9a-f]{64}$/),
          },
        };
        for (const ref of [
          'component:default/alpha',
          'Component:Default/ALPHA',
          'component:alpha',
        ]) {
          await expect(catalog.store.getEntity(tenantId, ref)).resolves.toEqual(
            expected,
          );
        }
      });

      it.each(['', 'alpha', 'default/alpha', ':default/alpha', 'component:'])(
        'refuses %p, which is no ref with a kind',
        async ref => {
          await expect(catalog.store.getEntity(tenantId, ref)).rejects.toThrow(
            `Invalid entity ref ${JSON.stringify(ref)}, expected`,
          );
        },
      );

      it('refuses a tenant id that is no UUID', async () => {
        const { store } = catalog;
        const refused = { name: 'InputError' };
        await expect(store.getEntity('x', 'a:b')).rejects.toMatchObject(
          refused,
        );
        await expect(store.listEntities('x', 'a')).rejects.toMatchObject(
          refused,
        );
        await expect(store.queryEntities('x')).rejects.toMatchObject(refused);
        await expect(store.getEntitiesByRefs('x', [])).rejects.toMatchObject(
          refused,
        );
      });
    });

    describe('listEntities', () => {
      const day = (number: number) => new Date(Date.UTC(2026, 0, number));
      const adopt = (kind: string, name: string, number: number) =>
        catalog.adopt(tenantId, [
          {
            kind,
            name,
            finalEntity: '{}',
            createdAt: day(number).toISOString(),
          },
        ]);

      it('lists live entities of the kind, in any case, newest first', async () => {
        await adopt('component', 'b', 2);
        await adopt('Component', 'c', 3);
        await adopt('component', 'a', 1);
        await adopt('api', 'd', 4);
        await adopt('component', 'e', 5);
        await catalog.client.query(
          `update entities set deleted_at = now() where tenant_id = $1 and entity_name = 'e'`,
          [tenantId],
        );
        const expected = [
          {
            entity_ref: 'Component:default/c',
            entity_name: 'c',
            created_at: day(3),
          },
          {
            entity_ref: 'component:default/b',
            entity_name: 'b',
            created_at: day(2),
          },
          {
            entity_ref: 'component:default/a',
            entity_name: 'a',
            created_at: day(1),
          },
        ];
        const { store } = catalog;
        await expect(
          store.listEntities(tenantId, 'Component'),
        ).resolves.toEqual(expected);
        await expect(
          store.listEntities(tenantId, 'COMPONENT', 1),
        ).resolves.toEqual([expected[1]]);
        await expect(store.listEntities(tenantId, 'group')).resolves.toEqual(
          [],
        );
        await expect(store.listEntities(tenantId, 'a\0')).resolves.toEqual([]);
      });

      it.each([0, -1, 1.5, NaN, Infinity])(
        'refuses the limit %p',
        async limit => {
          await expect(
            catalog.store.listEntities(tenantId, 'component', limit),
          ).rejects.toThrow(`Invalid limit ${limit}, expected a whole number`);
        },
      );

      itOnOneServer(
        'takes the newest from the index on the kind, of one partition',
        async () => {
          await write(
            ...Array.from({ length: 2000 }, (_, index) =>
              component(`c${index}`),
            ),
          );
          await catalog.client.query('analyze entities');
          const plan = await planOf(scope =>
            selectNewest(scope, { kind: 'component', limit: 10 }),
          );
          const scans = [
            ...plan.matchAll(
              /"Node Type":"([^"]*Scan)","[^}]*?"Alias":"(\w+)"/g,
            ),
          ];
          expect(plan).not.toContain('Seq Scan');
          expect(plan).not.toContain('Append');
          expect(
            scans
              .filter(([, , alias]) => alias === 'e')
              .map(([, type]) => type),
          ).toEqual(['Index Scan']);
          expect(plan).toMatch(/"Index Cond":"[^"]*entity_kind = kinds\.kind/);
        },
      );
    });

    describe('queryEntities', () => {
      it('returns live entities by their refs, in parts', async () => {
        await write(...['c', 'a', 'd', 'b'].map(name => component(name)));
        await write(...['c', 'a', 'b'].map(name => component(name)));
        const query = (options: object) =>
          catalog.store.queryEntities(tenantId, options).then(names);
        await expect(query({})).resolves.toEqual(['a', 'b', 'c']);
        await expect(query({ limit: 2 })).resolves.toEqual(['a', 'b']);
        await expect(query({ limit: 0 })).resolves.toEqual([]);
        await expect(query({ offset: 1 })).resolves.toEqual(['b', 'c']);
        await expect(query({ limit: 1, offset: 1 })).resolves.toEqual(['b']);
        await expect(
          query({ afterRef: 'component:default/a', limit: 1 }),
        ).resolves.toEqual(['b']);
        await expect(query({ limit: -1 })).rejects.toThrow('Invalid limit -1');
        await expect(query({ offset: 0.5 })).rejects.toThrow(
          'Invalid offset 0.5',
        );
        await expect(
          query({ afterRef: 'a', order: [{ field: 'kind', order: 'asc' }] }),
        ).rejects.toThrow('afterRef has no meaning together with an order');
      });

      itOnOneServer('passes entities over without reading them', async () => {
        await write(
          ...Array.from({ length: 1000 }, (_, index) =>
            component(`c${index}`, { spec: { text: 'x'.repeat(1500) } }),
          ),
        );
        await vacuum('entities');
        const plan = await planOf(scope =>
          selectEntities(scope, readFilter({}), { limit: 10, offset: 900 }),
        );
        expect(plan).toContain('"Node Type":"Index Only Scan"');
      });

      it.each([
        'null',
        '1',
        '"text"',
        '[]',
        '[1,{"a":1}]',
        '{}',
        '{"metadata":null,"relations":1}',
        '{"relations":[1,null,{"type":1}]}',
      ])('copes with a row of others that holds %s', async finalEntity => {
        const entityId = randomUUID();
        await catalog.adopt(tenantId, [{ name: 'odd', finalEntity, entityId }]);
        const { store } = catalog;
        const odd = JSON.parse(finalEntity);
        await expect(
          store.getEntity(tenantId, 'component:default/odd'),
        ).resolves.toEqual(odd);
        await expect(
          store.queryEntities(tenantId, {
            filter: {
              $all: [
                { 'metadata.name': { $exists: true } },
                { 'metadata.namespace': 'default' },
                { 'metadata.uid': entityId },
                { kind: { $exists: false } },
                { $not: { 'spec.type': 'service' } },
                { 'metadata.tags': { $exists: false } },
                { $not: { relations: { $contains: { type: 'ownedBy' } } } },
              ],
            },
            order: [{ field: 'spec.type', order: 'asc' }],
          }),
        ).resolves.toEqual([odd]);
      });

      it('does not let a filter out of the tenant, whatever its values hold', async () => {
        await write(component('a'));
        const hostile = `') or true or ('' = '`;
        const filters: FilterPredicate[] = [
          { [hostile]: hostile },
          { 'spec.type': hostile },
          { 'metadata.name': { $hasPrefix: hostile } },
          { 'a\0': 'b' },
          { a: 'b\0' },
          { a: { $hasPrefix: '\ud800' } },
        ];
        for (const filter of filters) {
          await expect(
            catalog.store.queryEntities(tenantId, { filter }),
          ).resolves.toEqual([]);
        }
      });
    });

    describe('readPage', () => {
      const byName = { field: 'Metadata.Name', order: 'asc' } as const;
      const read = async (query: Partial<EntityPageQuery>) => {
        const { rows, totalItems } = await catalog.store.readPage(tenantId, {
          limit: 10,
          total: true,
          ...query,
        });
        return {
          names: rows.map(({ json }) => JSON.parse(json).metadata.name),
          totalItems,
          rows,
        };
      };

      it('continues at whatever text the place of another page is', async () => {
        await write(component('a'));
        const after = (entityId: string, value?: string | null) =>
          read({ order: byName, after: { entityId, value } });
        await expect(after('', 'A')).resolves.toMatchObject({ names: ['a'] });
        await expect(after('~', 'a')).resolves.toMatchObject({ names: [] });
        await expect(after('x', null)).resolves.toMatchObject({ names: [] });
        await expect(
          read({ after: { entityId: `' or true --` } }),
        ).resolves.toMatchObject({ names: ['a'], totalItems: 1 });
        await expect(after('a\0', 'a')).rejects.toThrow('Invalid cursor');
        await expect(
          read({ after: { entityId: 'a', value: 'a' } }),
        ).rejects.toThrow('expected no value without an order');
        await expect(read({ limit: -1 })).rejects.toThrow('Invalid limit -1');
        await expect(read({ offset: 1.5 })).rejects.toThrow(
          'Invalid offset 1.5',
        );
      });

      it('reads a short list as it would a long one', async () => {
        const entities = ['a', 'B', 'bb', 'c', 'd'].map((name, index) =>
          component(name, {
            metadata: { title: index % 2 ? name : undefined },
            spec: { type: index % 3 ? 'service' : 'library', owner: 'g' },
          }),
        );
        await write(...entities);
        await catalog.adopt(tenantId, [
          {
            name: 'twice',
            finalEntity:
              '{"kind":"Component","metadata":{"name":"z","Name":"aa"},"spec":{"owner":"g"}}',
          },
          {
            name: 'nameless',
            finalEntity:
              '{"kind":"Component","metadata":{"name":null},"spec":{"owner":"g"}}',
          },
        ]);
        const filters: FilterPredicate[] = [
          { 'spec.owner': 'g' },
          { 'spec.owner': 'none' },
          { kind: 'component', 'spec.type': 'service' },
          { 'spec.type': { $in: ['service', 'library'] } },
          {
            $all: [
              { kind: 'component' },
              { $any: [{ 'metadata.name': 'a' }, { $not: { kind: 'x' } }] },
            ],
          },
        ];
        const pages: Array<Partial<EntityPageQuery>> = [
          {},
          { order: byName },
          { order: { field: 'metadata.name', order: 'desc' }, backwards: true },
          { order: { field: 'spec.type', order: 'desc' } },
          { order: { field: 'metadata.title', order: 'asc' }, offset: 1 },
          { order: byName, limit: 0 },
          { order: byName, limit: 2, offset: 2 },
          { order: byName, fullText: { term: 'B' } },
          { order: byName, fullText: { term: 'b', fields: ['spec.owner'] } },
          { fullText: { term: 'G', fields: ['spec.owner', 'metadata.title'] } },
        ];
        const rows = (build: (scope: TenantScope) => Knex.Raw) =>
          catalog.database.query(tenantId, build);
        for (const filter of filters) {
          for (const page of pages) {
            const query = { limit: 10, total: true, filter, ...page };
            const expected = await rows(scope => longPage(scope, query));
            await expect(
              rows(shortPage(planPage(query), query)!),
            ).resolves.toEqual(expected);
          }
        }
      });

      it('reads a list that is not short, and remembers that', async () => {
        const length = MOST_MATCHES + 1;
        await write(
          ...Array.from({ length }, (_each, index) =>
            component(`c${String(index).padStart(3, '0')}`),
          ),
        );
        let sent = 0;
        const database: TenantDatabase = {
          query: (...args) => {
            sent += 1;
            return catalog.database.query(...args);
          },
          transaction: (...args) => catalog.database.transaction(...args),
        };
        const store = new PostgresCatalogStore({ database });
        const page = async (order: 'asc' | 'desc') => {
          const { rows, totalItems } = await store.readPage(tenantId, {
            filter: { kind: 'component' },
            order: { field: 'metadata.name', order },
            limit: 1,
            total: true,
          });
          return [JSON.parse(rows[0].json).metadata.name, totalItems, sent];
        };
        await expect(page('asc')).resolves.toEqual(['c000', length, 2]);
        await expect(page('desc')).resolves.toEqual(['c500', length, 3]);
        await catalog.client.query(
          `delete from entities where tenant_id = $1 and entity_name = 'c000'`,
          [tenantId],
        );
        await expect(page('asc')).resolves.toEqual(['c001', length - 1, 4]);
        await expect(
          catalog.store.readPage(tenantId, {
            filter: { kind: 'component' },
            limit: 0,
            total: true,
          }),
        ).resolves.toEqual({ rows: [], totalItems: MOST_MATCHES });
      });

      itOnOneServer(
        'looks many conditions up all at once where many entities are left',
        async () => {
          const keys = Array.from({ length: 40 }, (_, index) => `k${index}`);
          const spec = Object.fromEntries(keys.map(key => [key, key]));
          await write(
            ...Array.from({ length: 2000 }, (_, index) =>
              component(`c${index}`, index < 500 ? { spec } : {}),
            ),
          );
          await catalog.client.query('analyze entities, entity_terms');
          const missing = keys.map(key => [`spec.${key}`, { $exists: false }]);
          const filter: FilterPredicate = Object.fromEntries(missing);
          await expect(read({ filter, limit: 1 })).resolves.toMatchObject({
            totalItems: 1500,
          });
          const explained = await catalog.database.query<
            Record<string, string>
          >(tenantId, scope =>
            scope.knex.raw('explain ?', [
              longPage(scope, { filter, limit: 1, total: true }),
            ]),
          );
          const hashed = explained
            .flatMap(row => Object.values(row))
            .flatMap(line => line.match(/hashed SubPlan/g) ?? []);
          // All but those that become joins: for the count, if not for the page of one.
          expect(hashed.length).toBeGreaterThanOrEqual(35);
        },
      );

      itOnOneServer(
        'finds what is asked for in the index of the terms, and calls the policy once',
        async () => {
          await write(
            ...Array.from({ length: 1000 }, (_each, index) =>
              component(`c${index}`, { spec: { type: `t${index % 50}` } }),
            ),
          );
          await vacuum('entity_terms');
          const queries: Array<Partial<EntityPageQuery>> = [
            { filter: { kind: 'component', 'spec.type': 't1' } },
            { filter: { 'spec.type': { $in: ['t1', 't2'] } } },
            { filter: { kind: 'component' }, order: byName },
            { filter: { 'spec.type': 't1' }, order: byName },
            {
              filter: { 'metadata.name': { $hasPrefix: 'c19' } },
              order: byName,
            },
          ];
          for (const query of queries) {
            const whole = { limit: 20, total: true, ...query };
            const statements = [
              (scope: TenantScope) => longPage(scope, whole),
              shortPage(planPage(whole), whole) ?? [],
            ].flat();
            for (const statement of statements) {
              const plan = await planOf(statement);
              expect(plan).not.toContain('Seq Scan');
              expect(plan).toContain('Index Only Scan');
              // That one would have it read rows of the table.
              expect(plan).not.toContain('entity_terms_entity_idx');
              // A condition of the whole plan, not of a row.
              expect(plan).toMatch(/"One-Time Filter":"[^"]*tenant_required/);
              expect(plan).not.toMatch(
                /"(Index Cond|Filter)":"[^"]*tenant_required/,
              );
            }
          }
        },
      );
    });

    describe('countFacets', () => {
      // With a plan for one row, it would take longer than a statement may.
      itOnOneServer(
        'answers for a tenant that came after the last ANALYZE',
        async () => {
          const { client, store } = catalog;
          const count = 400;
          const entities = Array.from({ length: count }, (_, at) =>
            component(`c-${at}`, {
              metadata: { tags: ['a', 'b', 'c', 'd'] },
              spec: { type: 'service', lifecycle: 'production' },
            }),
          );
          await client.query(
            'alter table entity_terms set (autovacuum_enabled = off)',
          );
          await write(...entities);
          await client.query('analyze entities, entity_terms');
          tenantId = await catalog.createTenant();
          await write(...entities);
          const found = await store.countFacets(tenantId, {
            facets: ['kind', 'metadata.tags', 'spec.type'],
            filter: {
              $all: [
                { kind: 'component' },
                { 'spec.lifecycle': 'production' },
                { $not: { 'spec.type': 'website' } },
              ],
            },
          });
          expect(found.kind).toEqual([{ value: 'Component', count }]);
          expect(found['metadata.tags']).toHaveLength(4);
          const plan = await planOf(scope =>
            longPage(scope, {
              filter: { kind: 'component' },
              order: { field: 'metadata.name', order: 'asc' },
              limit: 20,
              total: true,
            }),
          );
          // Not once for each entity.
          expect(plan).toMatch(/NOT [^"]*hashed SubPlan/);
          expect(plan).not.toMatch(/"Join Filter":"[^"]*page.entity_id/);
          await client.query(
            'alter table entity_terms reset (autovacuum_enabled)',
          );
        },
      );
    });

    describe('getAncestry', () => {
      const emitted = (name: string, ...parents: string[]) =>
        catalog.client.query(
          `insert into entity_parents (tenant_id, entity_ref, parent_entity_ref)
           select $1, $2, 'component:default/' || parent from unnest($3::text[]) parent`,
          [tenantId, `component:default/${name}`, parents],
        );

      it('finds from whom an entity comes, near and far, each once', async () => {
        await write(...['a', 'b', 'c', 'd', 'e'].map(name => component(name)));
        await emitted('a', 'b', 'c', 'gone');
        await emitted('b', 'd');
        await emitted('c', 'd');
        // In a circle.
        await emitted('d', 'a');
        const ancestry = await catalog.store.getAncestry(
          tenantId,
          'Component:A',
        );
        const ref = (name: string) => `component:default/${name}`;
        expect(ancestry?.rootEntityRef).toBe(ref('a'));
        expect(
          ancestry?.items.map(({ entity, parentEntityRefs }) => [
            entity.metadata.name,
            parentEntityRefs,
          ]),
        ).toEqual([
          ['a', [ref('b'), ref('c')]],
          ['c', [ref('d')]],
          ['d', [ref('a')]],
          ['b', [ref('d')]],
        ]);
      });

      it('follows no line beyond an entity that is deleted or was never there', async () => {
        await write(...['a', 'b', 'c', 'd'].map(name => component(name)));
        await emitted('a', 'b', 'gone');
        await emitted('b', 'c');
        await emitted('gone', 'd');
        await catalog.client.query(
          `update entities set deleted_at = now() where tenant_id = $1 and entity_name = 'b'`,
          [tenantId],
        );
        const ancestry = await catalog.store.getAncestry(
          tenantId,
          'component:a',
        );
        expect(
          ancestry?.items.map(({ entity, parentEntityRefs }) => [
            entity.metadata.name,
            parentEntityRefs,
          ]),
        ).toEqual([['a', []]]);
      });
    });

    describe('an equal read while another is under way', () => {
      const query = { limit: 10, filter: { kind: 'component' } };
      const reads: Array<[string, (store: CatalogStore) => Promise<unknown>]> =
        [
          [
            'readPage',
            async store => {
              const { rows } = await store.readPage(tenantId, query);
              return rows.length;
            },
          ],
          [
            'readEntities',
            async store => (await store.readEntities(tenantId, query)).length,
          ],
          [
            'queryEntities',
            async store => (await store.queryEntities(tenantId, query)).length,
          ],
          [
            'countFacets',
            async store => {
              const facets = ['kind'];
              const { kind } = await store.countFacets(tenantId, {
                ...query,
                facets,
              });
              return kind[0].count;
            },
          ],
          [
            'readEntitiesByRefs',
            async store => {
              const refs = ['component:default/a', 'component:default/b'];
              const found = await store.readEntitiesByRefs(tenantId, refs);
              return found.filter(json => json !== null).length;
            },
          ],
        ];

      itOnOneServer.each(reads)(
        '%s sees what its caller has written, and is sent once for all',
        async (_, count) => {
          await write(component('a'));
          const { client, database } = catalog;
          const held = await FirstReadHeld.create(database, client);
          const store = new PostgresCatalogStore({ database: held });
          const older = count(store);
          let newer: Array<Promise<unknown>>;
          try {
            await held.untilHeld();
            await writeEntities(database, tenantId, {
              type: 'delta',
              added: [component('b')],
              removed: [],
            });
            newer = [count(store), count(store), count(store)];
            expect(held.sent).toBe(1);
          } finally {
            await held.letGo();
          }
          await expect(older).resolves.toBe(1);
          await expect(Promise.all(newer)).resolves.toEqual([2, 2, 2]);
          expect(held.sent).toBe(2);
        },
      );

      itOnOneServer(
        'is another one where the caller may read something else',
        async () => {
          await write(component('a'), component('b'));
          const { client, database } = catalog;
          const held = await FirstReadHeld.create(database, client);
          const store = new PostgresCatalogStore({ database: held });
          const allowed = (name: string) => ({ 'metadata.name': name });
          const page = async (filter: FilterPredicate) => {
            const { rows } = await store.readPage(tenantId, {
              limit: 10,
              filter,
            });
            return rows.map(({ json }) => JSON.parse(json).metadata.name);
          };
          const older = page(allowed('a'));
          let others: Array<Promise<unknown>>;
          try {
            await held.untilHeld();
            others = [
              page(allowed('b')),
              page({ $any: [allowed('a'), allowed('b')] }),
            ];
            expect(held.sent).toBe(3);
          } finally {
            await held.letGo();
          }
          await expect(Promise.all(others)).resolves.toEqual([
            ['b'],
            expect.arrayContaining(['a', 'b']),
          ]);
          await expect(older).resolves.toEqual(['a']);
        },
      );
    });
  });
});

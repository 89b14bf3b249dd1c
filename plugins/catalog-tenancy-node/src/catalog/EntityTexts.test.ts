import { createTestDatabases, eventually } from '@internal/postgres/testUtils';
import { mockLogger } from '../__testUtils__/serviceMocks';
import type { TenantDatabase } from '../database/TenantDatabase';
import { notifyStatement } from '../tenants/ChangeListener';
import { RegistrySnapshot } from '../tenants/RegistrySnapshot';
import {
  type CatalogDatabase,
  component,
  createCatalogDatabase,
} from './__testUtils__/catalogDatabase';
import { EntityTexts, type EntityTextRow, VERSION } from './EntityTexts';
import { PostgresCatalogStore } from './PostgresCatalogStore';

const NAMES = Array.from({ length: 12 }, (_, index) => `e${index}`);
const REFS = NAMES.map(name => `component:default/${name}`);

describe('the kept texts of entities', () => {
  const databases = createTestDatabases();

  describe.each(databases.eachSupportedId())('on %p', id => {
    let catalog: CatalogDatabase;
    let tenantId: string;
    /** How many texts the server has sent for each read. */
    let sent: number[];
    let counting: TenantDatabase;

    const adopt = (tenant: string, title: string) =>
      catalog.adopt(
        tenant,
        NAMES.map(name => ({
          name,
          finalEntity: JSON.stringify(component(name, { metadata: { title } })),
        })),
      );

    beforeAll(async () => {
      catalog = await createCatalogDatabase(databases, id);
    });

    beforeEach(async () => {
      tenantId = await catalog.createTenant();
      await adopt(tenantId, 'first');
      sent = [];
      counting = {
        query: async (...args) => {
          const rows = await catalog.database.query(...args);
          sent.push(
            rows.filter(row => (row as EntityTextRow).content !== null).length,
          );
          return rows as never;
        },
        transaction: catalog.database.transaction.bind(catalog.database),
      };
    });

    afterAll(() => catalog?.close());

    const createStore = (registry?: RegistrySnapshot) =>
      new PostgresCatalogStore({ database: counting, registry });

    it('are not sent again, and each caller has objects of its own', async () => {
      const store = createStore();
      const first = await store.getEntitiesByRefs(tenantId, REFS);
      const expected = structuredClone(first);
      first[0]!.metadata.title = 'changed by a caller';
      const second = await store.getEntitiesByRefs(tenantId, REFS);
      const alone = await store.getEntitiesByRefs(tenantId, REFS.slice(0, 1));
      expect(sent).toEqual([12, 0, 0]);
      expect(second).toEqual(expected);
      expect(alone).toEqual(expected.slice(0, 1));
    });

    // The hash of all of them is the same, as if a program did not write it.
    it.each([
      [
        'an update of one',
        `update entities set final_entity = jsonb_set(final_entity, '{metadata,title}', '"new"')
          where tenant_id = $1 and entity_name = 'e3'`,
        1,
      ],
      [
        'an update of all',
        `update entities set final_entity = jsonb_set(final_entity, '{metadata,title}', '"new"')
          where tenant_id = $1`,
        12,
      ],
      [
        'a soft deletion',
        `update entities set deleted_at = now() where tenant_id = $1 and entity_name = 'e3'`,
        0,
      ],
      [
        'a deletion',
        `delete from entities where tenant_id = $1 and entity_name = 'e3'`,
        0,
      ],
      [
        'another entity with the ref',
        `with gone as (delete from entities where tenant_id = $1 and entity_name = 'e3' returning *)
         insert into entities (tenant_id, entity_ref, entity_kind, entity_namespace, entity_name, final_entity, hash)
         select tenant_id, 'component:default/e13', entity_kind, entity_namespace, 'e13', final_entity, hash from gone`,
        0,
      ],
    ])('are those of after %s', async (_, change, again) => {
      const store = createStore();
      await store.readEntitiesByRefs(tenantId, REFS);
      await catalog.client.query(change, [tenantId]);
      const found = await store.readEntitiesByRefs(tenantId, REFS);
      expect(sent).toEqual([12, again]);
      await expect(
        createStore().readEntitiesByRefs(tenantId, REFS),
      ).resolves.toEqual(found);
    });

    it('are those of after a rewrite that moves rows into places of others', async () => {
      const tenant = await catalog.createTenant();
      await catalog.client.query('begin');
      await catalog.client.query(
        `create table moved partition of entities for values in ('${tenant}')`,
      );
      await adopt(tenant, 'first');
      await catalog.client.query('commit');
      const store = createStore();
      const before = await store.readEntitiesByRefs(tenant, REFS);
      await catalog.client.query(
        `delete from moved where entity_name = '${NAMES[0]}'`,
      );
      await catalog.client.query('vacuum full moved');
      await expect(store.readEntitiesByRefs(tenant, REFS)).resolves.toEqual([
        null,
        ...before.slice(1),
      ]);
    });

    it('are those of the tenant, also where another one has equal versions', async () => {
      const tenants = [
        await catalog.createTenant(),
        await catalog.createTenant(),
      ];
      for (const [index, each] of tenants.entries()) {
        await catalog.client.query(
          `create table own_${index} partition of entities for values in ('${each}')`,
        );
      }
      await catalog.client.query('begin');
      await adopt(tenants[0], 'ours');
      await adopt(tenants[1], 'theirs');
      await catalog.client.query('commit');
      const { rows } = await catalog.client.query(
        `select count(*)::int as tenants from entities e
          where tenant_id = any ($1) group by ${VERSION}`,
        [tenants],
      );
      expect(rows).toEqual(NAMES.map(() => ({ tenants: 2 })));

      const store = createStore();
      for (const [index, title] of ['ours', 'theirs', 'ours'].entries()) {
        const found = await store.getEntitiesByRefs(tenants[index % 2], REFS);
        expect(found.map(each => each?.metadata.title)).toEqual(
          NAMES.map(() => title),
        );
      }
      expect(sent).toEqual([12, 12, 0]);
    });

    // As on a server that has lost its last transactions, and has given their numbers again.
    it('are those of the hash, also where an earlier row had the place and transaction', async () => {
      const tenant = await catalog.createTenant();
      const attach = (table: string) =>
        catalog.client.query(
          `alter table entities attach partition ${table} for values in ('${tenant}')`,
        );
      const detach = (table: string) =>
        catalog.client.query(`alter table entities detach partition ${table}`);
      await catalog.client.query('begin');
      for (const title of ['lost', 'newer']) {
        await catalog.client.query(
          `create table ${title} partition of entities for values in ('${tenant}')`,
        );
        await adopt(tenant, title);
        await catalog.client.query(`update ${title} set hash = '${title}'`);
        await detach(title);
      }
      await attach('lost');
      await catalog.client.query('commit');
      const store = createStore();
      await store.readEntitiesByRefs(tenant, REFS);
      await detach('lost');
      await attach('newer');
      const found = await store.getEntitiesByRefs(tenant, REFS);
      expect(found.map(each => each?.metadata.title)).toEqual(
        NAMES.map(() => 'newer'),
      );
    });

    it('are dropped after a change of a tenant', async () => {
      const registry = new RegistrySnapshot({
        pool: catalog.pool,
        logger: mockLogger(),
      });
      const store = createStore(registry);
      await eventually(async () => {
        await registry.findActive('default');
        expect(registry.isListening).toBe(true);
      });
      await store.readEntitiesByRefs(tenantId, REFS);
      await catalog.pool.query(knex =>
        notifyStatement(knex, catalog.pool.schema, { tenantSlug: 'other' }),
      );
      await eventually(async () => {
        await store.readEntitiesByRefs(tenantId, REFS);
        expect(sent.slice(1)).toContain(12);
      });
      await registry.close();
    });
  });

  it('are the latest that fit', () => {
    const texts = new EntityTexts({ maxBytes: 100_000 });
    const keep = (ref: string) =>
      texts.textOf(
        't',
        { entity_ref: ref, content: `${'x'.repeat(20_000)}\n${ref}` },
        new Map(),
      );
    ['a', 'b', 'c'].forEach(keep);
    expect([...texts.of('t', ['a', 'b', 'c']).keys()]).toEqual(['b', 'c']);
    expect(texts.of('u', ['b']).size).toBe(0);
  });

  it('are none of which the database was not told', () => {
    const texts = new EntityTexts();
    expect(() =>
      texts.textOf('t', { entity_ref: 'a', content: null }, new Map()),
    ).toThrow('The database returned no text of an entity');
  });
});

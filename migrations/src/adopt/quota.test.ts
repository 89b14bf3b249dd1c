import { createTestDatabases } from '@internal/postgres/testUtils';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { column, differences } from './__testUtils__/inspect';
import { createStockCatalog } from './__testUtils__/stockCatalog';
import type { StockCatalog } from './__testUtils__/stockCatalog';
import { ACME, createTenant, giveEngine } from './__testUtils__/tenantEngine';
import type { TenantEngine } from './__testUtils__/tenantEngine';
import { adopt, readAdoption, retryFaults } from './library';

const databases = createTestDatabases({ versions: 'newest' });

const FULL = 'the tenant has as many entities as it may have: 3 (max_entities)';

describe.each(databases.eachSupportedId())(
  'the limit of a tenant with an engine on %s',
  id => {
    let catalog: StockCatalog;
    let acme: TenantEngine;

    async function setUp(maxEntities: number): Promise<void> {
      catalog = await createStockCatalog(databases, id);
      await adopt({ connection: catalog.connection });
      await createTenant(catalog, ACME, 'acme', maxEntities);
      acme = await giveEngine(catalog, ACME);
    }
    afterEach(async () => {
      await acme.close();
      await catalog.close();
    });

    const ref = (name: string | number) => `component:default/${name}`;
    const ingest = (...names: (string | number)[]) =>
      names.reduce<Promise<unknown>>(
        (before, name) =>
          before.then(() => acme.engine.ingest({ ref: ref(name) })),
        Promise.resolve(),
      );
    const names = (tenantId = ACME) =>
      column<string>(
        catalog,
        'select entity_name from entities where tenant_id = $1 and deleted_at is null order by 1',
        [tenantId],
      );
    const reasons = () =>
      column<string>(
        catalog,
        `select sqlstate || ' ' || reason from adoption_faults where tenant_id = $1`,
        [ACME],
      );
    const retry = () =>
      retryFaults({ connection: catalog.connection, tenantId: ACME });

    it('keeps aside what exceeds it, and the others stay correct', async () => {
      await setUp(3);
      await ingest(1, 2, 3, 4, 5);
      expect(await names()).toEqual(['1', '2', '3']);
      expect(await reasons()).toEqual([`54000 ${FULL}`, `54000 ${FULL}`]);
      await acme.knex('final_entities').update({ hash: 'changed' });
      expect(
        await column(catalog, 'select distinct hash from entities'),
      ).toEqual(['changed']);
      expect(await reasons()).toHaveLength(2);
      expect(await differences(catalog)).toEqual([]);
      await catalog.engine.ingest({ ref: ref('stock') });
      expect(
        await readAdoption({ connection: catalog.connection }),
      ).toMatchObject({ engineEntities: 1, faults: 0 });
    });

    it('holds for the tenant alone, and not for the default one', async () => {
      await setUp(0);
      await ingest(1);
      await catalog.client.query(`update tenants set max_entities = 0`);
      await catalog.engine.ingest({ ref: ref('stock') });
      expect(await names()).toEqual([]);
      expect(await names(DEFAULT_TENANT_ID)).toEqual(['stock']);
    });

    it('lets in as many as have room, by a retry or by a write', async () => {
      await setUp(3);
      await ingest(1, 2, 3, 4, 5, 6);
      await acme.engine.remove(ref(1));
      await ingest(7);
      expect(await names()).toEqual(['2', '3', '7']);
      await acme.engine.remove(ref(2));
      expect(await retry()).toMatchObject({ faults: 2 });
      expect(await names()).toHaveLength(3);
      await catalog.client.query(
        'update tenants set max_entities = 4 where tenant_id = $1',
        [ACME],
      );
      expect(await retry()).toMatchObject({ faults: 1 });
      await catalog.client.query(
        'update tenants set max_entities = null where tenant_id = $1',
        [ACME],
      );
      expect(await retry()).toMatchObject({ faults: 0 });
      expect(await names()).toEqual(['3', '4', '5', '6', '7']);
      expect(await differences(catalog)).toEqual([]);
    });

    it('counts no entity twice that takes the place of another, nor one that was rolled back', async () => {
      await setUp(3);
      await ingest(1, 2);
      const transaction = await acme.knex.transaction();
      for (const name of ['a', 'b', 'c', 'd', 'e']) {
        const entity_id = `aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaa${name}`;
        await transaction.raw('savepoint s');
        await transaction('refresh_state').insert({
          entity_id,
          entity_ref: ref(name),
          unprocessed_entity: '{}',
          errors: '',
          next_update_at: transaction.fn.now(),
          last_discovery_at: transaction.fn.now(),
        });
        await transaction('final_entities').insert({
          entity_id,
          entity_ref: ref(name),
          final_entity: '{}',
          hash: 'h',
        });
        await transaction.raw('rollback to s');
      }
      await transaction.rollback();
      await ingest(3);
      for (let round = 0; round < 3; round += 1) {
        await acme.engine.remove(ref(1));
        await ingest(1);
      }
      expect(await names()).toEqual(['1', '2', '3']);
      expect(await reasons()).toEqual([]);
    });

    it('is exact where many write at once', async () => {
      await setUp(20);
      await ingest('first');
      const writer = async (name: string) => {
        for (let i = 0; i < 5; i += 1) {
          await acme.engine.ingest({ ref: ref(`${name}${i}`) });
        }
      };
      const live = async () => (await names()).length;
      await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(writer));
      expect(await live()).toBeLessThanOrEqual(20);
      expect((await live()) + (await reasons()).length).toBe(41);
      expect(await retry()).toMatchObject({ faults: 21 });
      expect(await live()).toBe(20);
      expect(await differences(catalog)).toEqual([]);
    });
  },
);

import {
  createTestDatabases,
  writeEntities,
} from '@internal/postgres/testUtils';
import { mockAuditor } from '../__testUtils__/serviceMocks';
import { AuditedAdminDatabase } from '../database/AuditedAdminDatabase';
import type { AdminDatabase } from '../database/AdminDatabase';
import {
  type CatalogDatabase,
  component,
  createCatalogDatabase,
  partitionsLocked,
} from './__testUtils__/catalogDatabase';
import { purgeDeletedEntities } from './purgeDeletedEntities';

describe('purgeDeletedEntities', () => {
  const databases = createTestDatabases({ citus: true });

  describe.each(databases.eachSupportedId())('on %p', id => {
    // Citus has shards in place of partitions.
    const itOnOneServer = id === 'CITUS' ? it.skip : it;
    let catalog: CatalogDatabase;
    let admin: AdminDatabase;

    /** A tenant with deleted entities, named by how many days ago that was. */
    const createTenant = async (
      days: Array<number | string>,
      ttl: number | null = 30,
    ) => {
      const slug = `purge-${Math.random().toString(36).slice(2)}`;
      const tenantId = await catalog.createTenant(slug);
      await catalog.client.query(
        'update tenants set entity_ttl_days = $2 where tenant_id = $1',
        [tenantId, ttl],
      );
      await writeEntities(catalog.database, tenantId, {
        type: 'full',
        entities: days.map(day => component(`d${day}`)),
      });
      for (const day of days.filter(each => each !== 'live')) {
        await catalog.client.query(
          `update entities set deleted_at = now() - make_interval(days => $3::int)
            where tenant_id = $1 and entity_name = $2`,
          [tenantId, `d${day}`, day],
        );
      }
      return { tenantId, slug };
    };
    const namesOf = async (tenantId: string) => {
      const { rows } = await catalog.client.query<{ entity_name: string }>(
        'select entity_name from entities where tenant_id = $1 order by 1',
        [tenantId],
      );
      return rows.map(row => row.entity_name);
    };

    beforeAll(async () => {
      catalog = await createCatalogDatabase(databases, id);
      admin = new AuditedAdminDatabase({
        pool: catalog.pool,
        auditor: mockAuditor(),
      });
    });

    beforeEach(() => catalog.client.query('truncate tenants cascade'));

    afterAll(() => catalog?.close());

    it('removes what was deleted longer ago than entity_ttl_days, for each tenant', async () => {
      const short = await createTenant([29, 31, 'live'], 30);
      const long = await createTenant([31, 400], 365);
      const never = await createTenant([4000], null);
      const none = await createTenant(['live'], 1);
      const purged = await purgeDeletedEntities(admin);
      expect(purged).toHaveLength(2);
      expect(purged).toEqual(
        expect.arrayContaining([
          { tenant_id: short.tenantId, tenant_slug: short.slug, purged: 1 },
          { tenant_id: long.tenantId, tenant_slug: long.slug, purged: 1 },
        ]),
      );
      await expect(namesOf(short.tenantId)).resolves.toEqual(['d29', 'dlive']);
      await expect(namesOf(long.tenantId)).resolves.toEqual(['d31']);
      await expect(namesOf(never.tenantId)).resolves.toEqual(['d4000']);
      await expect(namesOf(none.tenantId)).resolves.toEqual(['dlive']);
      await expect(purgeDeletedEntities(admin)).resolves.toEqual([]);
    });

    it('removes those of deleted tenants, in batches', async () => {
      const { tenantId, slug } = await createTenant([
        31,
        32,
        33,
        34,
        35,
        'live',
      ]);
      await catalog.client.query('update tenants set deleted_at = now()');
      await expect(
        purgeDeletedEntities(admin, { batchSize: 2 }),
      ).resolves.toEqual([
        { tenant_id: tenantId, tenant_slug: slug, purged: 5 },
      ]);
      await expect(namesOf(tenantId)).resolves.toEqual(['dlive']);
    });

    itOnOneServer(
      'goes on with other tenants where it is refused for one',
      async () => {
        const tenants = [await createTenant([31]), await createTenant([31])];
        await catalog.client.query(
          `create function refuse() returns trigger language plpgsql as
             $$ begin raise 'not these'; end $$`,
        );
        // The first one that is purged may be either.
        for (const [refused, other] of [tenants, [...tenants].reverse()]) {
          await catalog.client.query(
            `create or replace trigger refuse before delete on entities for each row
               when (old.tenant_id = '${refused.tenantId}') execute function refuse()`,
          );
          await writeEntities(catalog.database, other.tenantId, {
            type: 'full',
            entities: [],
          });
          await catalog.client.query(
            `update entities set deleted_at = now() - interval '31 days'`,
          );
          const purged = await purgeDeletedEntities(admin);
          expect(purged).toContainEqual({
            tenant_id: refused.tenantId,
            tenant_slug: refused.slug,
            purged: 0,
            error: expect.objectContaining({ name: 'DatabaseStatementError' }),
          });
          await expect(namesOf(refused.tenantId)).resolves.toEqual(['d31']);
          await expect(namesOf(other.tenantId)).resolves.toEqual([]);
          await writeEntities(catalog.database, other.tenantId, {
            type: 'full',
            entities: [component('d31')],
          });
        }
        await catalog.client.query('drop function refuse cascade');
      },
    );

    itOnOneServer(
      'locks nothing of tenants that have nothing to purge, however many there are',
      async () => {
        const { tenantId } = await createTenant([31, 'live']);
        const locked = new Set<string>();
        const watching: AdminDatabase = {
          run: (reason, work) =>
            admin.run(reason, async transaction => {
              const result = await work(transaction);
              (await partitionsLocked(transaction)).forEach(partition =>
                locked.add(partition),
              );
              return result;
            }),
        };
        await catalog.client.query(
          'update tenants set entity_ttl_days = null where tenant_id <> $1',
          [tenantId],
        );
        await expect(purgeDeletedEntities(watching)).resolves.toMatchObject([
          { purged: 1 },
        ]);
        expect([...locked].sort()).toEqual([
          'entities_catch_all',
          'refresh_state_catch_all',
          'relations_catch_all',
        ]);
      },
    );

    it('stops before the next batch when it is told to', async () => {
      await createTenant([31, 32, 33]);
      const controller = new AbortController();
      let runs = 0;
      const aborting: AdminDatabase = {
        run(reason, work) {
          runs += 1;
          if (runs === 3) {
            controller.abort();
          }
          return admin.run(reason, work);
        },
      };
      await expect(
        purgeDeletedEntities(aborting, {
          batchSize: 1,
          signal: controller.signal,
        }),
      ).resolves.toMatchObject([{ purged: 1 }]);
    });

    it('keeps an entity that comes back while it looks', async () => {
      const { tenantId } = await createTenant([31]);
      let runs = 0;
      const reviving: AdminDatabase = {
        async run(reason, work) {
          const result = await admin.run(reason, work);
          runs += 1;
          // Of the second one it is known which tenants have such entities.
          if (runs !== 2) {
            return result;
          }
          await writeEntities(catalog.database, tenantId, {
            type: 'delta',
            added: [component('d31')],
            removed: [],
          });
          return result;
        },
      };
      await expect(purgeDeletedEntities(reviving)).resolves.toMatchObject([
        { tenant_id: tenantId, purged: 0 },
      ]);
      await expect(namesOf(tenantId)).resolves.toEqual(['d31']);
    });
  });
});

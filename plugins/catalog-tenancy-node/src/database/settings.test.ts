import {
  alterDatabase,
  createTestDatabases,
  HOSTILE_SETTINGS,
} from '@internal/postgres/testUtils';
import { mockLogger } from '../__testUtils__/serviceMocks';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from '../__testUtils__/tenancyDatabase';
import { checkDatabase } from '../startup/checkDatabase';
import { entityRow, insertRows } from './__testUtils__/entityRow';
import { PooledTenantDatabase } from './PooledTenantDatabase';

const databases = createTestDatabases({ versions: 'every' });

describe.each(databases.eachSupportedId())(
  'Whatever the database sets for its sessions on %s,',
  id => {
    let database: TenancyDatabase;
    let tenants: PooledTenantDatabase;
    let tenant: string;
    beforeAll(async () => {
      database = await createTenancyDatabase(databases, id);
      await alterDatabase(database.connection, HOSTILE_SETTINGS);
      tenants = new PooledTenantDatabase(database.pool);
      tenant = await database.createTenant();
    });
    afterAll(() => database.close());

    it('the check at the start finds nothing', async () => {
      const logger = mockLogger();
      await checkDatabase(database.pool, logger);
      expect(logger.warn).not.toHaveBeenCalled();
    });

    it('a session has the settings that its statements depend on', async () => {
      const names = ['standard_conforming_strings', 'quote_all_identifiers'];
      const rows = await database.pool.query(knex =>
        knex('pg_settings').whereIn('name', names).select('name', 'setting'),
      );
      expect(rows).toEqual([
        { name: 'quote_all_identifiers', setting: 'off' },
        { name: 'standard_conforming_strings', setting: 'on' },
      ]);
    });

    it('times are those that were written', async () => {
      const before = Date.now();
      await tenants.query(tenant, scope =>
        insertRows(scope, [entityRow('timed')]),
      );
      const [{ created_at: at }] = await tenants.query<{ created_at: Date }>(
        tenant,
        scope => scope.table('entities').select('created_at'),
      );
      expect(at).toBeInstanceOf(Date);
      expect(Math.abs(at.getTime() - before)).toBeLessThan(300_000);
    });

    it.each(['query', 'transaction'] as const)(
      'each %s that waits for another one goes on with what that has written',
      async kind => {
        const name = `shared-${kind}`;
        await tenants.query(tenant, scope =>
          insertRows(scope, [entityRow(name)]),
        );
        const append = () =>
          kind === 'query'
            ? tenants.query(tenant, scope =>
                scope
                  .table('entities')
                  .where('entity_name', name)
                  .update('hash', scope.knex.raw(`hash || 'x'`)),
              )
            : tenants.transaction(tenant, transaction =>
                transaction.query(
                  transaction
                    .table('entities')
                    .where('entity_name', name)
                    .update('hash', transaction.knex.raw(`hash || 'x'`)),
                ),
              );
        const [{ hash }] = await tenants.query<{ hash: string }>(
          tenant,
          scope => scope.table('entities').where('entity_name', name),
        );
        await Promise.all(Array.from({ length: 20 }, append));
        const [{ hash: after }] = await tenants.query<{ hash: string }>(
          tenant,
          scope => scope.table('entities').where('entity_name', name),
        );
        expect(after).toBe(hash + 'x'.repeat(20));
      },
    );
  },
);

import { createTestDatabases } from '@internal/postgres/testUtils';
import { mockAuditor } from '../__testUtils__/serviceMocks';
import { createTenancyDatabase } from '../__testUtils__/tenancyDatabase';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import { AuditedAdminDatabase } from './AuditedAdminDatabase';
import { entityRow, insertRows } from './__testUtils__/entityRow';
import { PooledTenantDatabase } from './PooledTenantDatabase';
import type { TenancyPool } from '../pool/TenancyPool';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())(
  `The administrator's path on %s`,
  id => {
    const auditor = mockAuditor();
    let database: TenancyDatabase;
    let pool: TenancyPool;
    let admin: AuditedAdminDatabase;
    beforeAll(async () => {
      database = await createTenancyDatabase(databases, id);
      pool = database.createPool({ limits: { max: 1 } });
      admin = new AuditedAdminDatabase({ pool, auditor });
    });
    afterAll(() => database.close());

    const event = {
      success: jest.fn<Promise<void>, unknown[]>(),
      fail: jest.fn<Promise<void>, unknown[]>(),
    };
    beforeEach(() => {
      jest.resetAllMocks();
      event.success.mockResolvedValue();
      event.fail.mockResolvedValue();
      auditor.createEvent.mockResolvedValue(event);
    });

    /** What the connection may do when it is used without a tenant. */
    const expectOrdinary = async () => {
      await expect(pool.query(knex => knex('entities'))).rejects.toThrow(
        'permission denied for table entities',
      );
      await expect(
        pool.query(knex => knex.raw('select current_user as name')),
      ).resolves.toEqual([{ name: 'portal_app' }]);
    };

    it('sees the rows of all tenants, and tells why it was taken', async () => {
      const tenants = new PooledTenantDatabase(pool);
      for (let index = 0; index < 2; index += 1) {
        await tenants.query(await database.createTenant(), scope =>
          insertRows(scope, [entityRow('same')]),
        );
      }
      await expect(
        admin.run('count entities', ({ query, knex }) =>
          query(knex('entities').count()),
        ),
      ).resolves.toEqual([{ count: '2' }]);
      expect(auditor.createEvent.mock.calls).toEqual([
        [
          {
            eventId: 'tenancy-admin',
            severityLevel: 'medium',
            meta: { reason: 'count entities' },
          },
        ],
      ]);
      expect(event.success).toHaveBeenCalledTimes(1);
      expect(event.fail).not.toHaveBeenCalled();
      await expectOrdinary();
    });

    it('may write the registry, which others may not', async () => {
      const insert = {
        tenant_slug: `new-${id.toLowerCase().replace('_', '-')}`,
        tenant_name: 'New',
      };
      await expect(
        pool.query(knex => knex('tenants').insert(insert)),
      ).rejects.toThrow('permission denied for table tenants');
      await admin.run('create a tenant', ({ query, knex }) =>
        query(knex('tenants').insert(insert)),
      );
      await expect(
        pool.query(knex => knex('tenants').where(insert).select('tenant_name')),
      ).resolves.toEqual([{ tenant_name: 'New' }]);
      await expectOrdinary();
    });

    it('tells of failures as well, and takes back what was done', async () => {
      const error = new Error('changed my mind');
      await expect(
        admin.run('delete all', async ({ query, knex }) => {
          await query(knex('tenants').delete());
          throw error;
        }),
      ).rejects.toBe(error);
      expect(event.fail.mock.calls).toEqual([[{ error }]]);
      expect(event.success).not.toHaveBeenCalled();
      await expect(pool.query(knex => knex('tenants'))).resolves.not.toEqual(
        [],
      );
      await expectOrdinary();
    });

    it('does nothing that it can not tell of', async () => {
      auditor.createEvent.mockRejectedValue(new Error('no audit log'));
      const work = jest.fn();
      await expect(admin.run('anything', work)).rejects.toThrow('no audit log');
      expect(work).not.toHaveBeenCalled();
    });

    it('is told apart where it was withheld', async () => {
      await database.client.query(
        `do $$ begin create role withheld login password 'only-for-tests';
         exception when duplicate_object or unique_violation then null; end $$`,
      );
      const withheld = new AuditedAdminDatabase({
        auditor,
        pool: database.createPool({
          connection: { ...database.appConnection, user: 'withheld' },
        }),
      });
      await expect(
        withheld.run('count entities', ({ query, knex }) =>
          query(knex('entities').count()),
        ),
      ).rejects.toMatchObject({
        name: 'NotImplementedError',
        message: expect.stringContaining(
          'portal_admin is not granted to the database user',
        ),
      });
      expect(event.fail).toHaveBeenCalledTimes(1);
    });
  },
);

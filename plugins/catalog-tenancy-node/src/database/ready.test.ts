import { createTestDatabases } from '@internal/postgres/testUtils';
import { createTenancyDatabase } from '../__testUtils__/tenancyDatabase';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import { DatabaseUnavailableError } from '../pool/errors';
import type { TenancyPool } from '../pool/TenancyPool';

const databases = createTestDatabases({ versions: 'newest' });

const UNAVAILABLE = { name: 'ServiceUnavailableError', retryAfterSeconds: 10 };

describe.each(databases.eachSupportedId())(
  'A pool for several tenants on %s',
  id => {
    let database: TenancyDatabase;
    let pool: TenancyPool;
    let tenantId: string;
    beforeAll(async () => {
      database = await createTenancyDatabase(databases, id);
      pool = database.createPool({ whenReady: true });
      tenantId = await database.createTenant();
    });
    afterAll(() => database.close());

    /** Every way to the database. */
    const ways: Record<string, (of?: TenancyPool) => Promise<unknown>> = {
      'a query of a tenant': (of = pool) =>
        of.query(knex => knex('entities'), { tenantId }),
      'a query of the registry': (of = pool) =>
        of.query(knex => knex('tenants')),
      'a query behind another one': (of = pool) =>
        of.query(knex => knex('entities'), {
          tenantId,
          precondition: knex => knex.raw('select 1'),
        }),
      'a transaction of a tenant': (of = pool) =>
        of.transaction({ tenantId }, ({ query, knex }) =>
          query(knex('entities')),
        ),
      'a transaction of the administrator': (of = pool) =>
        of.transaction({ asAdmin: true }, ({ query, knex }) =>
          query(knex('entities')),
        ),
    };

    /** Works while something is missing, and puts it back. */
    async function without<T>(
      [take, giveBack]: [take: string, giveBack: string],
      work: () => Promise<T>,
    ): Promise<T> {
      await database.client.query(take);
      try {
        return await work();
      } finally {
        await database.client.query(giveBack);
      }
    }

    const READY: [string, string] = [
      'alter table tenancy_ready rename to tenancy_gone',
      'alter table tenancy_gone rename to tenancy_ready',
    ];

    it.each(Object.entries(ways))(
      '%s is answered while the tables are in place, and refused for a time without',
      async (_, ask) => {
        await expect(ask()).resolves.toBeDefined();
        await without(READY, async () => {
          const refusal = ask();
          await expect(refusal).rejects.toBeInstanceOf(
            DatabaseUnavailableError,
          );
          await expect(refusal).rejects.toMatchObject(UNAVAILABLE);
          // One that works for the default tenant alone goes on.
          await expect(ask(database.pool)).resolves.toBeDefined();
        });
        await expect(ask()).resolves.toBeDefined();
      },
    );

    it('keeps the tables in their place to the end of each transaction', async () => {
      const [{ locks }] = await pool.query<{ locks: number }>(
        knex =>
          knex.raw(
            `select count(*)::int as locks from pg_locks
              where relation = 'tenancy_ready'::regclass and granted
                and mode = 'AccessShareLock' and pid = pg_backend_pid()`,
          ),
        { tenantId },
      );
      expect(locks).toBe(1);
      const drop = () =>
        database.client
          .query(
            `begin; set local lock_timeout = 100; drop table tenancy_ready`,
          )
          .finally(() => database.client.query('rollback'));
      await pool.transaction({ tenantId }, async ({ query, knex }) => {
        await query(knex('entities'));
        await expect(drop()).rejects.toMatchObject({ code: '55P03' });
        await query(knex('entities'));
      });
      await expect(drop()).resolves.toBeDefined();
    });

    it('is looked through by the startup check', async () => {
      await without(READY, async () => {
        await expect(
          pool.query(knex => knex('tenants'), { evenIfNotReady: true }),
        ).resolves.toBeDefined();
      });
    });

    it.each(Object.entries(ways))(
      '%s is refused for a time where the right to the schema is gone',
      async (_, ask) => {
        await without(
          [
            'revoke usage on schema tenancy from portal_app',
            'grant usage on schema tenancy to portal_app',
          ],
          async () => {
            await expect(ask()).rejects.toMatchObject(UNAVAILABLE);
          },
        );
      },
    );

    it.each([
      ['a table', 'select from entities_of_nobody'],
      ['a table of a schema', 'select from nowhere.entities'],
      ['a function of ours', `select entity_terms_sync('a', 'b')`],
    ])(
      'a statement is refused for a time where %s is missing',
      async (_, sql) => {
        for (const each of [pool, database.pool]) {
          await expect(
            each.query(knex => knex.raw(sql), { tenantId }),
          ).rejects.toMatchObject(UNAVAILABLE);
        }
      },
    );

    it('a statement that calls a function of nobody is at fault itself', async () => {
      await expect(
        pool.query(knex => knex.raw('select no_such_function()'), { tenantId }),
      ).rejects.toMatchObject({
        name: 'DatabaseStatementError',
        sqlState: '42883',
      });
    });
  },
);

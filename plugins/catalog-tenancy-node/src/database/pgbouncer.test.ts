import { findPgBouncer, PgBouncer } from '@internal/postgres';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { createTenancyDatabase } from '../__testUtils__/tenancyDatabase';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import { entityRow, insertRows } from './__testUtils__/entityRow';
import { WireProxy } from './__testUtils__/WireProxy';
import { PooledTenantDatabase } from './PooledTenantDatabase';

const CONNECTIONS = 2;

const databases = createTestDatabases({ versions: 'newest' });
const executable = findPgBouncer();

if (!executable) {
  // eslint-disable-next-line no-console
  console.warn('No pgbouncer on the PATH: the tests behind it are left out');
}

// Each transaction may get another connection than the last, which others have used.
const describeWithPgBouncer = executable ? describe : describe.skip;

function targetOf({ host, port, user, password, database }: ClientConfig) {
  return {
    ...{ host: String(host), port: Number(port), user: String(user) },
    ...{ password: String(password), database: String(database) },
  };
}

/** Leaves settings behind on every connection to PostgreSQL. */
async function onEveryConnection(bouncer: PgBouncer, sql: string) {
  const clients = Array.from(
    { length: CONNECTIONS },
    () => new Client(bouncer.connection),
  );
  await Promise.all(clients.map(client => client.connect()));
  // Each holds one until all have one.
  await Promise.all(clients.map(client => client.query('begin')));
  await Promise.all(clients.map(client => client.query(`${sql}; commit`)));
  await Promise.all(clients.map(client => client.end()));
}

describeWithPgBouncer('Behind PgBouncer, which pools transactions,', () => {
  describe.each(databases.eachSupportedId())('a tenant on %s', id => {
    let database: TenancyDatabase;
    let bouncer: PgBouncer;
    let tenants: PooledTenantDatabase;
    let ids: string[];
    beforeAll(async () => {
      database = await createTenancyDatabase(databases, id);
      bouncer = await PgBouncer.start(
        executable!,
        targetOf(database.appConnection),
        { connections: CONNECTIONS },
      );
      tenants = new PooledTenantDatabase(
        database.createPool({
          connection: bouncer.connection,
          limits: { max: 8 },
        }),
      );
      ids = [];
      while (ids.length < 4) {
        ids.push(await database.createTenant());
      }
    });
    afterAll(async () => {
      await database.close();
      await bouncer.stop();
    });

    it('reads and writes its own rows, many at a time', async () => {
      await Promise.all(
        ids.map(async tenant => {
          for (let index = 0; index < 50; index += 1) {
            await tenants.query(tenant, scope =>
              insertRows(scope, [entityRow(`e${index}`)]),
            );
            const seen = await tenants.transaction(
              tenant,
              async ({ query, knex, table }) => {
                await query(table('entities').update({ hash: `${index}` }));
                // Without the predicate: the policy alone.
                return await query(
                  knex('entities')
                    .select('tenant_id', 'hash')
                    .count()
                    .groupBy('tenant_id', 'hash'),
                );
              },
            );
            expect(seen).toEqual([
              { tenant_id: tenant, hash: `${index}`, count: `${index + 1}` },
            ]);
          }
        }),
      );
    });

    it('is not there for those who set none, on any connection', async () => {
      const [tenant] = ids;
      const pool = database.createPool({
        connection: bouncer.connection,
        limits: { max: 8 },
      });
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          await expect(
            tenants.query(tenant, ({ knex }) => knex('entities')),
          ).resolves.toHaveLength(50);
          await expect(pool.query(knex => knex('entities'))).rejects.toThrow(
            'permission denied for table entities',
          );
          await expect(
            tenants.transaction(tenant, async ({ query, knex }) => {
              await query(knex('entities').delete());
              await query(knex.raw('select 1 / 0'));
            }),
          ).rejects.toMatchObject({ sqlState: '22012' });
        }),
      );
    });

    it('is not affected by what others have left on a connection', async () => {
      const [tenant, other] = ids;
      await onEveryConnection(
        bouncer,
        `set app.tenant_id = '${other}'; set role portal_admin; set search_path = public`,
      );
      const pool = database.createPool({ connection: bouncer.connection });
      for (let index = 0; index < 10; index += 1) {
        await expect(
          tenants.query(tenant, ({ knex }) =>
            knex('entities').distinct('tenant_id'),
          ),
        ).resolves.toEqual([{ tenant_id: tenant }]);
        await expect(pool.query(knex => knex('entities'))).rejects.toThrow(
          'permission denied for table entities',
        );
      }
    });

    it('has no statement run outside of a transaction that could not begin', async () => {
      const [tenant, other] = ids;
      await database.client.query(`
        create table unguarded (tenant text);
        grant select, insert on unguarded to portal_app`);
      await onEveryConnection(bouncer, `set app.tenant_id = '${other}'`);
      const proxy = await WireProxy.start(bouncer.connection);
      const behind = new PooledTenantDatabase(
        database.createPool({ connection: proxy.connection }),
      );
      await behind.query(tenant, ({ knex }) => knex('entities'));
      proxy.spoil('begin');
      await expect(
        behind.query(tenant, ({ knex }) =>
          knex.raw(
            `insert into tenancy.unguarded values (current_setting('app.tenant_id'))`,
          ),
        ),
      ).rejects.toMatchObject({ sqlState: '42601' });
      expect(proxy.spoiling).toBe(false);
      const { rows } = await database.client.query('select * from unguarded');
      expect(rows).toEqual([]);
      await proxy.close();
    });

    it('is answered again after PgBouncer has come back', async () => {
      const [tenant] = ids;
      const read = () =>
        tenants.query(tenant, scope =>
          scope.table('entities').distinct('tenant_id'),
        );
      const unavailable = expect.objectContaining({
        name: 'ServiceUnavailableError',
        retryAfterSeconds: expect.any(Number),
      });
      await read();
      await bouncer.crash();
      await expect(read()).rejects.toEqual(unavailable);
      await bouncer.restart();
      await expect(read()).resolves.toEqual([{ tenant_id: tenant }]);
    });
  });
});

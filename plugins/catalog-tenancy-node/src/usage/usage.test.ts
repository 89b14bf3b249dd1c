import { randomBytes } from 'node:crypto';
import { createTestDatabases } from '@internal/postgres/testUtils';
import { mockLogger } from '../__testUtils__/serviceMocks';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from '../__testUtils__/tenancyDatabase';
import { entityRow, insertRows } from '../database/__testUtils__/entityRow';
import { DatabaseUnavailableError } from '../pool/errors';
import { PooledTenantDatabase } from '../database/PooledTenantDatabase';
import { dayOf } from './input';
import { PostgresTenantUsageStore } from './PostgresTenantUsageStore';

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())('what tenants use, on %s', id => {
  let database: TenancyDatabase;
  let acme: { tenantId: string; tenantSlug: string };
  let globex: { tenantId: string; tenantSlug: string };
  beforeAll(async () => {
    database = await createTenancyDatabase(databases, id);
    acme = {
      tenantId: await database.createTenant('acme'),
      tenantSlug: 'acme',
    };
    globex = {
      tenantId: await database.createTenant('globex'),
      tenantSlug: 'globex',
    };
  });
  afterAll(() => database?.close());
  beforeEach(() =>
    database.client.query(
      'delete from tenant_usage; delete from tenant_usage_people',
    ),
  );

  /** As a process of its own. */
  function open(pool = database.createPool()) {
    const tenants = new PooledTenantDatabase(pool);
    const usage = new PostgresTenantUsageStore({
      database: tenants,
      pool,
      logger: mockLogger(),
    });
    usage.start();
    return { usage, tenants };
  }
  const today = dayOf(Date.now());

  it('is the sum of all processes, with each person once', async () => {
    const processes = [open(), open()];
    for (const { usage, tenants } of processes) {
      usage.count(acme, 'user:default/jane');
      usage.count(acme, 'user:default/jane');
      usage.count(acme);
      usage.count(globex, 'user:default/joe');
      await tenants.query(acme.tenantId, ({ knex }) =>
        knex.raw('select pg_sleep(0.01)'),
      );
    }
    processes[1].usage.count(acme, 'user:default/ann');
    await Promise.all(processes.map(({ usage }) => usage.stop()));
    const { usage } = processes[0];
    await expect(usage.list('acme')).resolves.toEqual([
      {
        day: today,
        requests: 7,
        database_ms: expect.any(Number),
        people: 2,
        entities: {},
        bytes: 0,
      },
    ]);
    const [{ database_ms }] = await usage.list('acme');
    expect(database_ms).toBeGreaterThanOrEqual(20);
    const [{ requests, people }] = await usage.list('globex');
    expect([requests, people]).toEqual([2, 1]);
    expect([...usage.totals()].map(([slug]) => slug)).toEqual([
      'acme',
      'globex',
    ]);
  });

  it('has the entities by kind, and their size', async () => {
    const { usage, tenants } = open();
    await tenants.query(acme.tenantId, scope =>
      insertRows(scope, [entityRow('a'), entityRow('b')]),
    );
    await database.client.query(
      `insert into tenant_usage_people values ('${acme.tenantId}', '2020-01-01', 'user:default/jane')`,
    );
    await usage.countEntities();
    const [counted] = await usage.list('acme');
    expect(Object.values(counted.entities)).toEqual([2]);
    expect(counted.bytes).toBeGreaterThan(0);
    await usage.stop();
    const { rows } = await database.client.query(
      `select count(*)::int as count from tenant_usage_people where day = '2020-01-01'`,
    );
    expect(rows).toEqual([{ count: 0 }]);
  });

  it('has the entities of the others where those of a tenant can not be counted', async () => {
    const { usage } = open();
    const others = await database.client.query<{ id: string }>(
      `select tenant_id as id from tenants where tenant_id <> $1`,
      [acme.tenantId],
    );
    // The first tenant that is counted may be either.
    for (const { id: refused } of [{ id: acme.tenantId }, ...others.rows]) {
      await database.client.query(
        `delete from tenant_usage;
         alter table tenant_usage add constraint refused check (tenant_id <> '${refused}')`,
      );
      await usage.countEntities();
      await database.client.query(
        'alter table tenant_usage drop constraint refused',
      );
      const { rows } = await database.client.query(
        'select count(*)::int as counted from tenant_usage',
      );
      expect(rows).toEqual([{ counted: others.rows.length }]);
    }
  });

  it('is stored later where it can not be stored', async () => {
    const { usage } = open();
    usage.count(acme, 'user:default/jane');
    await database.client.query('alter table tenant_usage rename to away');
    await usage.stop();
    await database.client.query('alter table away rename to tenant_usage');
    usage.count(acme, 'user:default/jane');
    // Of these, PostgreSQL can store neither.
    usage.count(acme, 'user:default/\0');
    usage.count(acme, `user:default/${randomBytes(9_000).toString('hex')}`);
    await usage.stop();
    const [{ requests, people }] = await usage.list('acme');
    expect([requests, people]).toEqual([4, 1]);
  });

  it('counts once where the answer to a commit is lost', async () => {
    const pool = database.createPool();
    const { usage } = open(pool);
    usage.count(acme);
    const { transaction } = pool;
    jest.spyOn(pool, 'transaction').mockImplementationOnce(async (...args) => {
      await transaction.apply(pool, args);
      throw new DatabaseUnavailableError('lost', { outcomeUnknown: true });
    });
    await usage.stop();
    usage.count(acme);
    await usage.stop();
    const [{ requests }] = await usage.list('acme');
    expect(requests).toBe(2);
  });
});

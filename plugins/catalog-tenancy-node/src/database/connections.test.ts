import { once } from 'events';
import { createServer } from 'net';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { createTenancyDatabase } from '../__testUtils__/tenancyDatabase';
import type { TenancyDatabase } from '../__testUtils__/tenancyDatabase';
import { entityRow, insertRows } from './__testUtils__/entityRow';
import { PoolWatch } from './__testUtils__/PoolWatch';
import { WireProxy } from './__testUtils__/WireProxy';
import { PooledTenantDatabase } from './PooledTenantDatabase';
import type { TenancyPool } from '../pool/TenancyPool';

const databases = createTestDatabases({ versions: 'newest' });

const now = performance.now.bind(performance);

/** Waits also while timers are fake, and at most for 20 seconds. */
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const end = now() + 20_000;
  while (!(await isTrue())) {
    if (now() > end) {
      throw new Error(`It is not so after 20 s: ${isTrue}`);
    }
    await new Promise(setImmediate);
  }
}

describe.each(databases.eachSupportedId())('A connection to %s', id => {
  let database: TenancyDatabase;
  let pool: TenancyPool;
  let tenants: PooledTenantDatabase;
  let watch: PoolWatch;
  let tenant: string;
  beforeAll(async () => {
    database = await createTenancyDatabase(databases, id);
    watch = PoolWatch.start();
  });
  afterAll(async () => {
    watch.stop();
    await database.close();
  });
  beforeEach(async () => {
    pool = database.createPool({ limits: { max: 1 } });
    tenants = new PooledTenantDatabase(pool);
    tenant = await database.createTenant();
    watch.givenBack.length = 0;
    watch.closed = 0;
  });
  afterEach(() => pool.close());

  /** The next one to use the connection has nothing of the last. */
  const expectClean = async (closed: number) => {
    await watch.answered();
    expect(watch.closed).toBe(closed);
    for (const givenBack of watch.givenBack) {
      expect(givenBack).toEqual({ status: 'I', tenant: '', role: 'none' });
    }
    await expect(pool.query(knex => knex('entities'))).rejects.toThrow(
      'permission denied for table entities',
    );
    const other = await database.createTenant();
    await expect(
      tenants.query(other, ({ knex }) => knex('entities')),
    ).resolves.toEqual([]);
  };

  const insert = (name: string) =>
    tenants.query(tenant, scope => insertRows(scope, [entityRow(name)]));

  /** Waits for the statement of the pool, and does something to its backend. */
  const interfere = async (
    functionName: 'pg_cancel_backend' | 'pg_terminate_backend',
    waitEvent: 'PgSleep' | 'ClientRead' = 'PgSleep',
  ) => {
    await waitUntil(`a session in ${waitEvent}`, async () => {
      const { rowCount } = await database.client.query(
        `select ${functionName}(pid) from pg_stat_activity
          where usename = 'portal_app' and datname = current_database()
            and wait_event = $1 and state <> 'idle'`,
        [waitEvent],
      );
      return rowCount;
    });
  };

  const sleep = () =>
    tenants.query(tenant, ({ knex }) =>
      knex.raw('select pg_sleep(60) from entities'),
    );

  it('is clean after a statement that was cancelled', async () => {
    await insert('a');
    const sleeping = sleep();
    await Promise.all([
      expect(sleeping).rejects.toMatchObject({
        sqlState: '57014',
        message:
          'The database stopped a statement, which took too long or was cancelled',
      }),
      interfere('pg_cancel_backend'),
    ]);
    const transaction = tenants.transaction(tenant, async ({ query, knex }) => {
      await query(knex('entities').delete());
      await query(knex.raw('select pg_sleep(60)'));
    });
    await Promise.all([
      expect(transaction).rejects.toMatchObject({ sqlState: '57014' }),
      interfere('pg_cancel_backend'),
    ]);
    await expectClean(0);
    await expect(
      tenants.query(tenant, scope => scope.table('entities')),
    ).resolves.toHaveLength(1);
  });

  it('is replaced after its backend was terminated', async () => {
    await insert('a');
    const sleeping = sleep();
    await Promise.all([
      expect(sleeping).rejects.toMatchObject({
        name: 'ServiceUnavailableError',
        message:
          'The database has ended the connection (SQLSTATE 57P01), and nothing was changed',
        outcomeUnknown: false,
      }),
      interfere('pg_terminate_backend'),
    ]);
    expect(watch.closed).toBe(1);
    const transaction = tenants.transaction(tenant, async ({ query, knex }) => {
      await query(knex('entities').delete());
      await query(knex.raw('select pg_sleep(60)'));
    });
    await Promise.all([
      expect(transaction).rejects.toMatchObject({
        name: 'ServiceUnavailableError',
        outcomeUnknown: false,
      }),
      interfere('pg_terminate_backend'),
    ]);
    await expectClean(2);
    await expect(
      tenants.query(tenant, scope => scope.table('entities')),
    ).resolves.toHaveLength(1);
  });

  const inSleep = async (action = 'pid') => {
    const { rows } = await database.client.query(
      `select ${action} from pg_stat_activity
        where datname = current_database() and wait_event = 'PgSleep'`,
    );
    return rows.length > 0;
  };

  it.each<[string, (proxy: WireProxy) => unknown]>([
    ['the server answers nobody', proxy => proxy.freeze()],
    [
      'the server no longer has its session',
      proxy => {
        proxy.freezeOld();
        return inSleep('pg_terminate_backend(pid)');
      },
    ],
  ])('is replaced where %s and does not close it', async (_, fail) => {
    const proxy = await WireProxy.start(database.appConnection);
    const throughProxy = database.createPool({ connection: proxy.connection });
    /** Waits for the connection that asks, and for its end. */
    const asked = async (hasAnswer: boolean) => {
      const { accepted } = proxy;
      jest.advanceTimersByTime(30_000);
      await until(() => proxy.accepted > accepted);
      if (hasAnswer) {
        await until(() => proxy.connections === 1);
      }
    };
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
    try {
      const transaction = throughProxy.transaction({}, ({ query, knex }) =>
        query(knex.raw('select pg_sleep(3600)')),
      );
      let isOver = false;
      const failed = transaction
        .catch(error => error)
        .finally(() => {
          isOver = true;
        });
      await until(inSleep);
      // It may take so long as the server works on it.
      await asked(true);
      await fail(proxy);
      await asked(false);
      jest.advanceTimersByTime(15_000);
      await until(() => {
        jest.advanceTimersByTime(1);
        return isOver;
      });
      expect(await failed).toMatchObject({
        name: 'ServiceUnavailableError',
        outcomeUnknown: false,
      });
    } finally {
      jest.useRealTimers();
      await inSleep('pg_terminate_backend(pid)');
      proxy.thaw();
      await throughProxy.close();
      await proxy.close();
    }
  });

  it('is replaced after the server has become read-only', async () => {
    await database.client.query(`
      create or replace function fail_over() returns int language plpgsql as $$
      begin
        raise 'cannot execute INSERT in a read-only transaction'
          using errcode = 'read_only_sql_transaction';
      end $$`);
    const failOver = {
      name: 'ServiceUnavailableError',
      message:
        'The database is read-only at the moment (SQLSTATE 25006), and nothing was changed',
      outcomeUnknown: false,
    };
    await expect(
      tenants.query(tenant, ({ knex }) => knex.raw('select fail_over()')),
    ).rejects.toMatchObject(failOver);
    await expect(
      tenants.transaction(tenant, ({ query, knex }) =>
        query(knex.raw('select fail_over()')),
      ),
    ).rejects.toMatchObject(failOver);
    await expectClean(2);
  });

  it('is not waited for longer than the timeout', async () => {
    const small = database.createPool({
      limits: { max: 1, connectionTimeoutMs: 1_000 },
    });
    let release: () => void = () => undefined;
    const held = new Promise<void>(resolve => {
      release = resolve;
    });
    const holding = small.transaction({}, async ({ query, knex }) => {
      await query(knex('tenants'));
      await expect(small.query(k => k('tenants'))).rejects.toMatchObject({
        name: 'ServiceUnavailableError',
        message: 'No connection to the database became free within 1000 ms',
        retryAfterSeconds: 1,
        outcomeUnknown: false,
      });
      await held;
    });
    release();
    await holding;
    await expect(small.query(knex => knex('tenants'))).resolves.toBeDefined();
  });

  it('is not made where nobody listens, or nobody answers', async () => {
    // It takes what it gets, and says nothing.
    const server = createServer(socket => socket.resume());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const nobody = database.createPool({
      connection: { ...database.appConnection, host: '127.0.0.1', port },
      limits: { connectionTimeoutMs: 100 },
    });
    const expectUnavailable = async () => {
      const failing = nobody.query(knex => knex('tenants'));
      await expect(failing).rejects.toMatchObject({
        name: 'ServiceUnavailableError',
        message: 'There is no connection to the database at the moment',
        retryAfterSeconds: 5,
      });
    };
    await expectUnavailable();
    server.close();
    await expectUnavailable();
  });

  it.each<[string, object, string]>([
    ['a wrong password', { password: 'wrong' }, '28P01'],
    ['a missing database', { database: 'missing' }, '3D000'],
  ])(
    'is not made with %s, which is told by its code',
    async (_, wrong, code) => {
      const refused = database.createPool({
        connection: { ...database.appConnection, ...wrong },
      });
      await expect(
        refused.query(knex => knex('tenants')),
      ).rejects.toMatchObject({
        name: 'ServiceUnavailableError',
        message: `The database refuses the connection (SQLSTATE ${code})`,
        retryAfterSeconds: 5,
      });
    },
  );

  it('hides its password', () => {
    expect(pool.connection.password).toBe(database.appConnection.password);
    expect(Object.keys(pool.connection)).not.toContain('password');
    expect(JSON.stringify(pool)).not.toContain('only-for-tests');
  });
});

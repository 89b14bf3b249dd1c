import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import {
  createTenancyDatabase,
  type TenancyDatabase,
} from '../__testUtils__/tenancyDatabase';
import type { OperationLimits } from '../config/readTenancyConfig';
import { TenantBusyError } from '../pool/errors';
import type { TenancyPool } from '../pool/TenancyPool';
import { TenantLimits } from '../pool/TenantLimits';
import { PooledTenantDatabase } from './PooledTenantDatabase';
import type { TenantQueryOptions } from './TenantDatabase';

const databases = createTestDatabases({ versions: 'newest' });

/** What statements of the tests wait for, until the superuser lets them go on. */
const LOCK = 4711;

const GONE = new Error('The caller has gone');

describe.each(databases.eachSupportedId())(
  'The limits of tenants on %s',
  id => {
    let database: TenancyDatabase;
    let pool: TenancyPool;
    let tenants: PooledTenantDatabase;
    let noisy: string;
    let quiet: string;

    const letGo = () =>
      database.client.query(`select pg_advisory_unlock_all()`);

    beforeAll(async () => {
      database = await createTenancyDatabase(databases, id);
      noisy = await database.createTenant('noisy');
      quiet = await database.createTenant();
    });
    afterAll(() => database.close());
    beforeEach(() => database.client.query(`select pg_advisory_lock(${LOCK})`));
    afterEach(async () => {
      await letGo();
      await pool.close();
    });

    function open(
      max: number,
      operations: Partial<OperationLimits>,
      tenantLimits?: TenantLimits,
    ): void {
      pool = database.createPool({
        tenantLimits,
        // Nothing but a cancellation, or the end of the lock, ends a statement here.
        limits: { max, statementTimeoutMs: 3_600_000 },
        operations,
      });
      tenants = new PooledTenantDatabase(pool);
    }

    /** A statement that takes until {@link letGo}. */
    const long = (tenantId: string, options?: TenantQueryOptions) =>
      tenants.query<{ tenant: string }>(
        tenantId,
        ({ knex }) =>
          knex.raw(
            `select ?::text as tenant from pg_advisory_xact_lock_shared(${LOCK})`,
            [tenantId],
          ),
        options,
      );

    const short = (tenantId: string) =>
      tenants.query(tenantId, ({ knex }) => knex.raw('select 1 as one'));

    /** The sessions whose statements wait for the lock. */
    const pids = async (): Promise<number[]> => {
      const { rows } = await database.client.query(
        `select pid from pg_stat_activity
        where usename = 'portal_app' and datname = current_database()
          and state = 'active' and wait_event_type = 'Lock'`,
      );
      return rows.map(({ pid }) => pid);
    };

    const statements = async () => (await pids()).length;

    const untilRunning = (count: number) =>
      waitUntil(
        `${count} statements that wait for the lock`,
        async () => (await statements()) === count,
      );

    it('count transactions', async () => {
      open(5, { concurrency: 1, queue: 0 });
      await tenants.transaction(noisy, async ({ knex, query }) => {
        await query(knex.raw('select 1'));
        await expect(short(noisy)).rejects.toThrow(TenantBusyError);
        await expect(short(quiet)).resolves.toEqual([{ one: 1 }]);
      });
      await expect(short(noisy)).resolves.toEqual([{ one: 1 }]);
    });

    describe('A caller that has gone', () => {
      it('leaves the queue', async () => {
        open(1, {});
        const first = long(noisy);
        await untilRunning(1);
        const callers = [new AbortController(), new AbortController()];
        const [of, another] = [noisy, quiet].map((tenant, index) =>
          long(tenant, { signal: callers[index].signal }),
        );
        expect(pool.counts.waiting).toBe(2);
        callers.forEach(caller => caller.abort(GONE));
        await expect(of).rejects.toBe(GONE);
        await expect(another).rejects.toBe(GONE);
        expect(pool.counts).toEqual({ running: 1, waiting: 0, refused: 0 });
        await letGo();
        await first;
      });

      it('is sent nothing for', async () => {
        open(1, {});
        const caller = new AbortController();
        caller.abort(GONE);
        await expect(long(noisy, { signal: caller.signal })).rejects.toBe(GONE);
        expect(pool.counts.running).toBe(0);
      });
    });
  },
);

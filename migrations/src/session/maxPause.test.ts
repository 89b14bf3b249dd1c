import {
  createTestDatabases,
  waitUntil,
  withDeadline,
} from '@internal/postgres/testUtils';
import { Client } from 'pg';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { catalogTemplate } from '../__testUtils__/catalogTemplate';
import { stopBefore } from '../__testUtils__/stopBefore';
import { runInProcess } from '../cli/__testUtils__/runCli';
import { silentReporter } from '../Reporter';
import type { LockQueue } from '../Reporter';
import { settled } from '../phases/phase5_partitions/80_settle';
import { swap } from '../phases/phase5_partitions/70_swap';

const databases = createTestDatabases({ versions: 'newest' });
const TENANT = '00000000-0000-0000-0000-000000000001';
// No wait of ours ends by itself in a test that ends it.
const LONG_MS = 600_000;

const WRITES: Record<string, string> = {
  entities: `update entities set hash = 'seen' where tenant_id = '${TENANT}'`,
  refresh_state: `update refresh_state set errors = '["seen"]' where tenant_id = '${TENANT}'`,
};

describe.each(databases.eachSupportedId())('--max-pause on %s', id => {
  const create = catalogTemplate(databases, id, {
    entities: 20,
    phase: 4,
  });
  let database: CatalogDatabase;
  const clients: Client[] = [];
  beforeEach(async () => {
    database = await create();
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map(client => client.end()));
    await database.close();
  });

  async function connect(): Promise<Client> {
    const client = new Client(database.connection);
    await client.connect();
    await client.query('set search_path = tenancy');
    clients.push(client);
    return client;
  }

  const pidOf = async (client: Client): Promise<number> =>
    (await client.query('select pg_backend_pid() as pid')).rows[0].pid;

  /** Until a session waits for a table in one of some modes. */
  const isWaited = (table: string, mode: string) =>
    waitUntil(`somebody to wait for ${table} in ${mode}`, async () => {
      const { rowCount } = await database.client.query(
        `select from pg_locks where relation = to_regclass($1) and mode = $2 and not granted`,
        [`tenancy.${table}`, mode],
      );
      return rowCount;
    });

  it('puts the swap into the queue, so that transactions which overlap all the time let it in, and none of them fails', async () => {
    await stopBefore(database, 5, swap);
    let isOver = false;
    const write = async (client: Client) => {
      while (!isOver) {
        await client.query(
          `begin; ${WRITES.entities} and false; update relations set type = type where false;
           ${WRITES.refresh_state} and false; select pg_sleep(0.4); commit`,
        );
      }
    };
    const writers = await Promise.all([1, 2, 3, 4].map(connect));
    const writing = Promise.all(
      writers.map(async (client, index) => {
        await client.query('select pg_sleep($1)', [index / 10]);
        await write(client);
      }),
    );
    const queues: LockQueue[] = [];
    const reporter = {
      ...silentReporter,
      waiting: (_what: string, _attempts: number, queue?: LockQueue) => {
        queues.push(...(queue ? [{ ...queue }] : []));
      },
    };
    await database
      .migrate(migration => migration.runPhase(5), {
        reporter,
        // The fifth request, for 656 ms, is the second that begins with entities, and
        // longer than a transaction.
        settings: { lockTimeoutMs: 100, maxPauseMs: 5000 },
      })
      .finally(() => {
        isOver = true;
      });
    await expect(withDeadline('the writers', writing)).resolves.toHaveLength(4);
    expect(queues.some(({ waiting }) => waiting > 0)).toBe(true);
  });

  it('ends no transaction that waits behind the swap and holds another of its tables', async () => {
    await stopBefore(database, 5, swap);
    // Only this one looks for deadlocks, and finds one where the swap waits for it.
    await database.client.query(
      `do $$ begin execute format('alter database %I set deadlock_timeout = ${LONG_MS}', current_database()); end $$`,
    );
    const [first, crossing] = [await connect(), await connect()];
    await crossing.query('set deadlock_timeout = 300');
    await first.query(`begin; ${WRITES.entities}`);
    await crossing.query(`begin; ${WRITES.refresh_state}`);

    let attempts = 0;
    const swapped = database.migrate(migration => migration.runPhase(5), {
      // Long enough to be found in a deadlock.
      settings: { lockTimeoutMs: 1500, maxPauseMs: LONG_MS },
      reporter: {
        ...silentReporter,
        waiting: () => {
          attempts += 1;
        },
      },
    });
    // The first request is none of those that may take longer.
    await waitUntil('a second request', () => attempts > 0);
    await isWaited('entities', 'AccessExclusiveLock');
    const crossed = crossing.query(`${WRITES.entities}; commit`);
    await isWaited('entities', 'RowExclusiveLock');
    await first.query('commit');
    await expect(crossed).resolves.toHaveLength(2);
    await swapped;
  });

  it('says who waits, for how long, and which processes are in the way', async () => {
    await stopBefore(database, 5, swap);
    const [holder, waiter] = [await connect(), await connect()];
    const pid = await pidOf(holder);
    await holder.query(`begin; ${WRITES.entities}`);
    const running = runInProcess(
      database.connection,
      'phase5',
      // The second request stands in the queue for 2,080 ms.
      '--lock-timeout',
      '1300',
      '--max-pause',
      '600000',
    );
    let isOver = false;
    const reading = (async () => {
      while (!isOver) {
        await waiter.query('select count(*) from entities');
      }
    })();
    // A second and more behind a request, which is told of it every second.
    await waitUntil('a session that waits for long', async () => {
      const { rowCount } = await database.client.query(
        `select from pg_locks where not granted and mode = 'AccessShareLock'
            and now() - waitstart > interval '1500 milliseconds'`,
      );
      return rowCount;
    });
    isOver = true;
    await holder.query('commit');
    await reading;
    const { exitCode, stderr } = await running;
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(
      new RegExp(
        `Waiting for a lock: Swap the tables \\(attempt \\d+; 1 session waited behind it, up to [\\d,]+ ms; in its way: process ${pid}\\)`,
      ),
    );
  });

  it('holds for the change of a single table, too', async () => {
    await stopBefore(database, 5, settled);
    const [holder, waiter] = [await connect(), await connect()];
    await holder.query('begin; lock table relations in access share mode');
    const settling = database.migrate(migration => migration.runPhase(5), {
      settings: { lockTimeoutMs: 10, maxPauseMs: LONG_MS },
    });
    await isWaited('relations', 'AccessExclusiveLock');
    // The other tables are free meanwhile.
    await expect(waiter.query('select from entities')).resolves.toMatchObject({
      rowCount: 20,
    });
    await holder.query('commit');
    await settling;
  });
});

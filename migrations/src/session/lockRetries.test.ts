import { Postgres } from '@internal/postgres';
import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client, DatabaseError } from 'pg';
import {
  createCatalogDatabase,
  openCatalogDatabase,
} from '../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { seedCatalog } from '../__testUtils__/seed';
import { stopBefore } from '../__testUtils__/stopBefore';
import { runInProcess } from '../cli/__testUtils__/runCli';
import { silentReporter } from '../Reporter';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { CancelledError, EXIT_CODES, LockNotGrantedError } from '../errors';
import { notNull } from '../phases/phase2_backfill/30_not_null';
import { partitionedTables } from '../phases/phase5_partitions/10_partitioned_tables';
import { copyRows } from '../phases/phase5_partitions/30_copy';
import { swap } from '../phases/phase5_partitions/70_swap';
import {
  LOCK_PATIENCE_MINUTES,
  lockTogether,
  withLockRetries,
} from './lockRetries';

const databases = createTestDatabases();

const lockEntities = ({ context }: TenancyMigration) =>
  context.executor.transaction({
    title: 'Lock the table',
    locks: '',
    tables: ['entities'],
    statements: [],
  });

describe.each(databases.eachSupportedId())('a command on %s', id => {
  const create = (phase?: 1 | 4) => () =>
    createCatalogDatabase(databases, id, { entities: 200, phase });
  let database: CatalogDatabase;
  const clients: Client[] = [];

  const use = async (make: () => Promise<CatalogDatabase>) => {
    database = await make();
  };
  afterEach(async () => {
    await Promise.all(clients.splice(0).map(client => client.end()));
    await database.close();
  });

  async function connect(applicationName = 'reports'): Promise<Client> {
    const client = new Client({
      ...database.connection,
      application_name: applicationName,
    });
    await client.connect();
    await client.query('set search_path = tenancy');
    clients.push(client);
    return client;
  }

  /** Cancels what waits as `condition` says, until that is over; a test ends a wait. */
  async function cancelWhile(
    condition: string,
    isOver: () => boolean,
  ): Promise<void> {
    while (!isOver()) {
      await database.client.query(
        `select pg_cancel_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()
            and state = 'active' and ${condition}`,
      );
    }
  }

  /** Runs while transactions of 0.3 seconds overlap all the time, none of which may fail. */
  async function besideOverlapping(
    transaction: string,
    run: (migration: TenancyMigration) => Promise<unknown>,
  ): Promise<void> {
    const writers = await Promise.all([1, 2, 3, 4].map(() => connect()));
    let isOver = false;
    const writing = Promise.all(
      writers.map(async (writer, index) => {
        await writer.query('select pg_sleep($1)', [index * 0.075]);
        while (!isOver) {
          await writer.query(
            `begin; ${transaction}; select pg_sleep(0.3); commit`,
          );
        }
      }),
    );
    await database.migrate(run).finally(() => {
      isOver = true;
    });
    await writing;
  }

  it.each([
    {
      what: 'NOT NULL',
      step: notNull,
      phase: 2,
      transaction: 'update entities set hash = hash where false',
    },
    {
      what: 'the partitioned tables',
      step: partitionedTables,
      phase: 5,
      transaction: 'select from tenants',
    },
    {
      what: 'the swap',
      step: swap,
      phase: 5,
      transaction: `update entities set hash = hash where false;
        update relations set type = type where false;
        update refresh_state set errors = errors where false`,
    },
  ] as const)(
    'gets to $what beside sessions that overlap all the time, and fails none',
    async ({ step, phase, transaction }) => {
      await use(create(phase === 2 ? 1 : 4));
      await stopBefore(database, phase, step);
      await expect(
        besideOverlapping(transaction, migration => migration.runPhase(phase)),
      ).resolves.toBeUndefined();
    },
  );

  it('names the session that holds a lock', async () => {
    await use(create());
    const other = await connect();
    await other.query('begin; lock table entities in access share mode');
    const { rows } = await other.query('select pg_backend_pid() as pid');
    const [{ pid }] = rows;
    const seen: string[][] = [];
    await database.migrate(lockEntities, {
      reporter: {
        ...silentReporter,
        waiting: (_what, _attempts, holders) => {
          seen.push(holders);
          void other.query('commit');
        },
      },
    });
    expect(seen[0]).toEqual([
      `process ${pid} (reports, user ${database.connection.user})`,
    ]);
  });

  it('waits for all of its tables together no longer than for one', async () => {
    await use(create());
    const hold = async (table: string) => {
      const holder = await connect();
      await holder.query(`begin; lock table ${table} in access share mode`);
      return async (seconds: number) => {
        await holder.query(`select pg_sleep(${seconds}); commit`);
      };
    };
    const [freeEntities, freeRelations, asking] = [
      await hold('entities'),
      await hold('relations'),
      await connect('asks'),
    ];
    const asked = asking
      .query(`begin; ${lockTogether(['entities', 'relations'], 400)}`)
      .then(
        () => 'granted',
        error => error.code,
      );
    await waitUntil('it waits', async () => {
      const { rows } = await database.client.query(
        `select from pg_locks join pg_stat_activity using (pid)
          where not granted and application_name = 'asks'`,
      );
      return rows.length > 0;
    });
    await Promise.all([freeEntities(0.3), freeRelations(0.6)]);
    expect(await asked).toBe('55P03');
  });

  it('that copies ends when it is cancelled, says so, and goes on when run again', async () => {
    await use(create(4));
    const stop = new Error('stopped');
    const reporter = {
      ...silentReporter,
      progress: () => ({
        advance: () => {
          throw stop;
        },
        finish: () => undefined,
      }),
    };
    await stopBefore(database, 5, copyRows);
    await expect(
      database.migrate(migration => migration.runPhase(5), { reporter }),
    ).rejects.toBe(stop);
    // The copy waits to see whether this one is there.
    const other = await connect();
    await other.query(
      `begin;
       insert into entities_tenant_default
              (tenant_id, entity_id, entity_ref, entity_kind, entity_name, final_entity, hash)
       select tenant_id, entity_id, entity_ref, entity_kind, entity_name, final_entity, hash
         from entities order by ctid desc limit 1`,
    );
    let over = false;
    const running = runInProcess(
      database.connection,
      'phase5',
      '--json',
    ).finally(() => {
      over = true;
    });
    await cancelWhile(`wait_event_type = 'Lock'`, () => over);
    const { exitCode, stdout, stderr } = await running;
    await other.query('rollback');
    expect(exitCode).toBe(EXIT_CODES.cancelled);
    expect(stderr).toMatch(
      /was cancelled in the database .* goes on from there/,
    );
    expect(JSON.parse(stdout)).toMatchObject({
      phase: 4,
      error: { name: 'CancelledError', exitCode: EXIT_CODES.cancelled },
    });
    await database.migrate(migration => migration.runPhase(5));
    await expect(
      database.migrate(migration => migration.completedPhase()),
    ).resolves.toBe(5);
  });

  it.each([`wait_event = 'PgSleep'`, `wait_event_type = 'Lock'`])(
    'that waits for a lock ends when it is cancelled: %s',
    async condition => {
      await use(create());
      const other = await connect();
      await other.query('begin; lock table entities in access share mode');
      let over = false;
      const running = database
        .migrate(lockEntities)
        .catch(error => error)
        .finally(() => {
          over = true;
        });
      await cancelWhile(condition, () => over);
      expect(await running).toBeInstanceOf(CancelledError);
    },
  );

  it.each([
    { when: 'that waits behind it', held: 'refresh_state', isBehind: true },
    { when: 'that it waits for', held: 'relations', isBehind: false },
  ])(
    'ends no transaction $when and that holds another of its tables',
    async ({ held, isBehind }) => {
      await use(create());
      const [ours, first, crossing] = await Promise.all([
        connect('ours'),
        connect('first'),
        connect('crossing'),
      ]);
      // Only this one looks for deadlocks, and finds one where we wait for it.
      await ours.query(`set deadlock_timeout = '600s'`);
      await first.query(`set deadlock_timeout = '600s'`);
      await crossing.query('set deadlock_timeout = 3000');
      const isWaiting = (name: string, table: string) =>
        waitUntil(`${name} to wait for ${table}`, async () => {
          const { rowCount } = await database.client.query(
            `select from pg_locks join pg_stat_activity using (pid)
              where application_name = $1 and relation = $2::regclass and not granted`,
            [name, table],
          );
          return rowCount;
        });
      await first.query('begin; lock table entities in row exclusive mode');
      await crossing.query(`begin; lock table ${held} in row exclusive mode`);
      const locked = ours
        .query(
          `begin; ${lockTogether(
            ['entities', 'relations', 'refresh_state'],
            600_000,
          )}`,
        )
        .catch(error => error);
      await isWaiting('ours', 'entities');
      if (!isBehind) {
        await first.query('commit');
        await isWaiting('ours', held);
      }
      const crossed = crossing.query(
        'lock table entities in row exclusive mode; commit',
      );
      if (isBehind) {
        await isWaiting('crossing', 'entities');
        await first.query('commit');
      }
      expect(await locked).toMatchObject({ code: '55P03' });
      await ours.query('rollback');
      await expect(crossed).resolves.toHaveLength(2);
    },
  );
});

describe('on a server with prepared transactions', () => {
  let folder: string;
  let server: Postgres;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'locks-'));
    server = await Postgres.start({
      version: 18,
      dataDirectory: folder,
      settings: { max_prepared_transactions: '5' },
    });
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('names one that is in the way by its gid', async () => {
    const database = await openCatalogDatabase({
      connectionString: server.connectionString(),
    });
    await seedCatalog(database.client, { entities: 5 });
    await database.client.query(
      `begin; update tenancy.entities set hash = hash; prepare transaction 'nightly report'`,
    );
    const seen: string[][] = [];
    await database.migrate(lockEntities, {
      reporter: {
        ...silentReporter,
        waiting: (_what, _attempts, holders) => {
          seen.push(holders);
          void database.client.query(`rollback prepared 'nightly report'`);
        },
      },
    });
    expect(seen[0]).toEqual([`the prepared transaction 'nightly report'`]);
    await database.close();
  });
});

describe('a lock that is never granted', () => {
  let now: number;
  beforeEach(() => {
    now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => jest.restoreAllMocks());

  it('is asked for longer each time, up to --max-pause and for ten minutes', async () => {
    const asked: { timeoutMs: number; at: number }[] = [];
    const error = await withLockRetries(
      {
        executor: {
          session: {
            pause: async milliseconds => {
              now += milliseconds;
            },
            query: async <Row>() => [{ holder: 'process 7 (psql)' }] as Row[],
          },
        },
        reporter: silentReporter,
        settings: { maxPauseMs: 1000 },
      },
      { title: 'Swap the tables' },
      timeoutMs => {
        asked.push({ timeoutMs, at: now });
        now += timeoutMs;
        const refusal = new DatabaseError('lock not available', 0, 'error');
        refusal.code = '55P03';
        return Promise.reject(refusal);
      },
    ).catch(failure => failure);
    const times = asked.map(({ timeoutMs }) => timeoutMs);
    expect(times[0]).toBe(50);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times[times.length - 1]).toBe(1000);
    asked.slice(1).forEach(({ at }, index) => {
      const before = asked[index];
      expect(at - before.at).toBeGreaterThanOrEqual(2 * before.timeoutMs);
    });
    expect(error).toBeInstanceOf(LockNotGrantedError);
    expect(error.message).toMatch(
      /"Swap the tables" was not granted for 10m 00s, in \d+ attempts: held by process 7 \(psql\)\. End them, or give a longer --max-pause than 1,000 ms\./,
    );
    const minutes = now / 60_000;
    expect(minutes).toBeGreaterThanOrEqual(LOCK_PATIENCE_MINUTES);
    expect(minutes).toBeLessThan(LOCK_PATIENCE_MINUTES + 0.1);
    const runbook = readFileSync(
      resolve(__dirname, '../../../docs/operators/migration.md'),
      'utf8',
    );
    expect(/After (\d+) minutes the command gives up/.exec(runbook)?.[1]).toBe(
      String(LOCK_PATIENCE_MINUTES),
    );
  });
});

import { createTestDatabases } from '@internal/postgres/testUtils';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Client, DatabaseError } from 'pg';
import type { CatalogDatabase } from '../__testUtils__/catalogDatabase';
import { catalogTemplate } from '../__testUtils__/catalogTemplate';
import { stopBefore } from '../__testUtils__/stopBefore';
import { runInProcess } from '../cli/__testUtils__/runCli';
import { silentReporter } from '../Reporter';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { CancelledError, EXIT_CODES, LockNotGrantedError } from '../errors';
import { copyRows } from '../phases/phase5_partitions/30_copy';
import { swap } from '../phases/phase5_partitions/70_swap';
import {
  LOCK_PATIENCE_MINUTES,
  lockTogether,
  withLockRetries,
} from './lockRetries';
import type { LockedWork, LockRequest } from './lockRetries';

const databases = createTestDatabases();

// Nothing waits for so long: what ends the wait is what the test does.
const LONG_MS = 600_000;

describe.each(databases.eachSupportedId())('a command on %s', id => {
  const create = catalogTemplate(databases, id, {
    entities: 200,
    phase: 4,
  });
  let database: CatalogDatabase;
  let other: Client;
  beforeEach(async () => {
    database = await create();
    other = new Client(database.connection);
    await other.connect();
    await other.query('set search_path = tenancy');
  });
  afterEach(async () => {
    await other.end();
    await database.close();
  });

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

  /** The failure of a command, and how often it asked for a lock again. */
  async function failureOf(
    run: (migration: TenancyMigration) => Promise<unknown>,
    options: {
      lockTimeoutMs?: number;
      meanwhile?: (isOver: () => boolean) => Promise<void>;
    },
  ): Promise<{ error: unknown; waited: number }> {
    let waited = 0;
    let over = false;
    const reporter = {
      ...silentReporter,
      waiting: () => {
        waited += 1;
      },
    };
    const failing = database
      .migrate(run, {
        reporter,
        settings: { lockTimeoutMs: options.lockTimeoutMs ?? 50 },
      })
      .then(
        () => undefined,
        error => error,
      )
      .finally(() => {
        over = true;
      });
    await options.meanwhile?.(() => over);
    return { error: await failing, waited };
  }

  /** Stops in the middle of the copy, and has the rest of it wait for `other`. */
  async function blockCopy(): Promise<void> {
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
    await other.query(
      `begin;
       insert into entities_tenant_default
              (tenant_id, entity_id, entity_ref, entity_kind, entity_name, final_entity, hash)
       select tenant_id, entity_id, entity_ref, entity_kind, entity_name, final_entity, hash
         from entities order by ctid desc limit 1`,
    );
  }

  it('that copies ends when it is cancelled, says so, and goes on when run again', async () => {
    await blockCopy();
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
    expect(stderr).not.toContain('Waiting for a lock');
    expect(JSON.parse(stdout)).toMatchObject({
      phase: 4,
      error: { name: 'CancelledError', exitCode: EXIT_CODES.cancelled },
    });
    await database.migrate(migration => migration.runPhase(5));
    await expect(
      database.migrate(migration => migration.completedPhase()),
    ).resolves.toBe(5);
  });

  it('that waits for a lock between two attempts ends when it is cancelled', async () => {
    await other.query('begin; lock table entities in access share mode');
    const { error, waited } = await failureOf(
      ({ context }) =>
        context.executor.transaction({
          title: 'Lock the table',
          locks: '',
          statements: ['lock table entities in access exclusive mode'],
        }),
      { meanwhile: isOver => cancelWhile(`wait_event = 'PgSleep'`, isOver) },
    );
    await other.query('commit');
    expect(error).toBeInstanceOf(CancelledError);
    expect(waited).toBeGreaterThan(0);
  });

  it('that swaps the tables ends when it is cancelled, and does not ask for the locks again', async () => {
    await stopBefore(database, 5, swap);
    await other.query('begin; lock table entities in access share mode');
    const { error, waited } = await failureOf(
      migration => migration.runPhase(5),
      {
        lockTimeoutMs: LONG_MS,
        meanwhile: isOver => cancelWhile(`wait_event_type = 'Lock'`, isOver),
      },
    );
    await other.query('commit');
    expect(error).toBeInstanceOf(CancelledError);
    expect(waited).toBe(0);
  });

  it('that locks tables together gives up after its time, as for any lock', async () => {
    await other.query('begin; lock table refresh_state in access share mode');
    const attempt = async ({ context }: TenancyMigration) => {
      await context.executor.read('begin');
      await context.executor.read(
        lockTogether(['entities', 'relations', 'refresh_state'], {
          timeoutMs: 20,
          queueMs: 20,
        }),
      );
    };
    await expect(database.migrate(attempt)).rejects.toMatchObject({
      code: '55P03',
    });
    await other.query('commit');
  });
});

describe('a lock that is never granted', () => {
  const refusal = () => {
    const error = new DatabaseError('lock not available', 0, 'error');
    error.code = '55P03';
    return Promise.reject(error);
  };
  let now: number;
  beforeEach(() => {
    now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => jest.restoreAllMocks());

  const ask = (
    work: Partial<LockedWork> = {},
    attempt: (request: LockRequest) => Promise<never> = refusal,
  ) =>
    withLockRetries(
      {
        title: 'Swap the tables',
        session: {
          pause: async milliseconds => {
            now += milliseconds;
          },
          query: async <Row>() => [{ pid: 1 }] as Row[],
          openAnother: () => Promise.reject(new Error('too many connections')),
        },
        reporter: silentReporter,
        ...work,
      },
      attempt,
    ).catch(error => error);

  it('is asked for during the minutes that the message and the runbook say', async () => {
    const error = await ask();
    expect(error).toBeInstanceOf(LockNotGrantedError);
    expect(error.message).toMatch(
      /"Swap the tables" was not granted for 10 minutes, in \d+ attempts:/,
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

  it.each([
    [
      'a longer --max-pause where the work queues for it',
      { lockTimeoutMs: 30, queues: true },
      /--max-pause, which is 30 ms as long as none is given/,
    ],
    [
      'a longer --lock-timeout where that alone ends the wait',
      { lockTimeoutMs: 30, maxPauseMs: 6000 },
      /give a longer --lock-timeout than 30 ms/,
    ],
    [
      'no option where none would change anything',
      { maxPauseMs: 6000 },
      /pg_prepared_xacts\.$/,
    ],
  ])('has the advice of %s', async (_, work, advice) => {
    const { message } = await ask(work);
    expect(message).toMatch(advice);
    expect(message.match(/--[a-z-]+/)?.[0]).toBe(
      advice.source.match(/--[a-z-]+/)?.[0],
    );
  });

  it.each([
    [1000, '1,000 ms'],
    [60_000, '60,000 ms'],
  ])(
    'is asked for longer each time, up to --max-pause %d and ten times as long as that, with a longer rest each time',
    async (maxPauseMs, text) => {
      const asked: { queueMs: number; at: number }[] = [];
      const error = await ask(
        { lockTimeoutMs: 30, queues: true, maxPauseMs },
        ({ queueMs }) => {
          asked.push({ queueMs, at: now });
          now += queueMs;
          return refusal();
        },
      );
      const times = asked.map(({ queueMs }) => queueMs);
      expect(times[0]).toBe(30);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(times.filter(time => time === maxPauseMs)).toHaveLength(10);
      expect(Math.max(...times)).toBe(maxPauseMs);
      asked.slice(2).forEach(({ at }, index) => {
        const before = asked[index + 1];
        expect(at - before.at).toBeGreaterThan(2 * before.queueMs);
      });
      expect(error).toBeInstanceOf(LockNotGrantedError);
      expect(error.message).toContain(
        `held up the application for ${text}, as --max-pause grants`,
      );
    },
  );
});

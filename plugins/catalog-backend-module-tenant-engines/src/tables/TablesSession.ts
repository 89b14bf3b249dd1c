import { sessionSettings } from 'backstage-catalog-tenancy-migrations';
import { SilenceWatch } from 'backstage-plugin-catalog-tenancy-node';
import knexFactory from 'knex';
import type { Knex } from 'knex';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, DatabaseError, escapeIdentifier } from 'pg';
import type { ClientConfig, QueryResult } from 'pg';

/**
 * An operation on the tables of engines can't be done, for a reason that an operator can
 * act on: the message says which, and what to do.
 */
export class EngineTablesError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EngineTablesError';
  }
}

// The first key of the advisory locks; 7007 and 7008 are those of the migration.
const LOCK_CLASS = 7010;

const CONNECT_MS = 60_000;
const POLL_MS = 100;

// A statement that waits for ACCESS EXCLUSIVE blocks all later statements on the table. So it
// gives up early, lets them run, and tries again. Each attempt waits longer than the one
// before.
const FIRST_LOCK_TIMEOUT_MS = 100;
const LONGEST_LOCK_TIMEOUT_MS = 1000;
const GROWTH = 1.5;
// Between two attempts, the others have this many times as long as they were held up.
const REST = 2;

// lock_not_available and deadlock_detected.
const LOCK_FAILURES = ['55P03', '40P01'];

// An operation ends when it is done, and creates what PostgreSQL creates by default.
const SETTINGS = sessionSettings(
  {
    statement_timeout: '0',
    idle_in_transaction_session_timeout: '0',
    idle_session_timeout: '0',
    lock_timeout: '0',
    default_tablespace: '',
    default_table_access_method: 'heap',
    client_min_messages: 'warning',
    jit: 'off',
    // Names are either qualified, or the operation sets the schema first.
    search_path: 'pg_catalog',
  },
  // PostgreSQL has it since 17.
  { transaction_timeout: '0' },
);

// The server notices within a second that the process was killed, also during a statement,
// and releases the session's locks. Some platforms of the server lack the setting.
const CHECK_CLIENT = 'set client_connection_check_interval = 1000';

/** How the statements of {@link TablesSession.knex} are changed. */
interface KnexOptions {
  warn: (message: string) => void;
  /** Changes a statement before it is sent, or leaves it out (`undefined`). */
  change?: (sql: string) => string | undefined;
}

/** How long to wait for a lock that others hold. */
export interface WaitOptions {
  patienceMs: number;
  signal?: AbortSignal;
}

/**
 * One connection for one operation. It is not pooled, because its advisory locks, its
 * search_path and its temporary view belong to the session.
 */
export class TablesSession {
  /**
   * A session for some work, which is closed after it. It is closed when the signal aborts, even
   * while it connects or a statement waits: the server rolls back what has not been committed.
   *
   * @throws the reason of the signal, and what the work throws
   */
  static async use<T>(
    connection: ClientConfig,
    work: (session: TablesSession) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    signal?.throwIfAborted();
    const client = new Client({
      connectionTimeoutMillis: CONNECT_MS,
      ...connection,
      // Not enumerable where it was hidden.
      password: connection.password,
      application_name: 'catalog tenant engines: tables',
      keepAlive: true,
      // Otherwise a vanished server would be noticed only after TCP's own timeout.
      keepAliveInitialDelayMillis: 10_000,
    });
    // Without a listener, the error would end the process. The query that needs the connection
    // fails as well.
    client.on('error', () => undefined);
    const end = () => client.connection.stream.destroy();
    signal?.addEventListener('abort', end, { once: true });
    try {
      await client.connect();
      await client.query(SETTINGS);
      await client.query(CHECK_CLIENT).catch(() => undefined);
      const { rows } = await client.query('select pg_backend_pid() as pid');
      return await new SilenceWatch(connection).until(
        work(new TablesSession(client)),
        { close: end, pid: () => rows[0].pid },
      );
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', end);
      await client.end().catch(() => undefined);
    }
  }

  /** The message of PostgreSQL, without the statement that Knex puts before it. */
  private readonly messages = new WeakMap<object, string>();

  private constructor(private readonly client: Client) {}

  async query<Row extends object>(
    text: string,
    values?: unknown[],
  ): Promise<Row[]> {
    const { rows } = await this.client.query<Row>(text, values);
    return rows;
  }

  /** The result of a transaction, which is rolled back if `work` fails. */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.client.query('begin');
    try {
      const result = await work();
      await this.client.query('commit');
      return result;
    } catch (error) {
      await this.client.query('rollback').catch(() => undefined);
      throw error;
    }
  }

  /** Whether there is a schema of this name. */
  async hasSchema(name: string): Promise<boolean> {
    const found = await this.query(
      'select from pg_catalog.pg_namespace where nspname = $1',
      [name],
    );
    return found.length > 0;
  }

  /** The schema in which unqualified names are found and created. */
  async useSchema(schema: string): Promise<void> {
    await this.query(`select set_config('search_path', $1, false)`, [
      escapeIdentifier(schema),
    ]);
  }

  /**
   * Waits for an advisory lock until the transaction or, with `scope: 'session'`, the
   * session ends. It locks no table. The wait is one of this process, not of the server: a
   * statement that waits would hold a snapshot, for which CREATE INDEX CONCURRENTLY of the
   * lock's holder would wait.
   *
   * @throws {@link EngineTablesError} when the patience is over; the reason of the signal
   */
  async lock(
    name: string,
    options: WaitOptions & {
      scope: 'transaction' | 'session';
    },
  ): Promise<void> {
    const { scope, patienceMs, signal } = options;
    const end = performance.now() + patienceMs;
    const take = `pg_try_advisory_${
      scope === 'transaction' ? 'xact_' : ''
    }lock`;
    for (;;) {
      signal?.throwIfAborted();
      const [{ taken }] = await this.query<{ taken: boolean }>(
        `select ${take}(${LOCK_CLASS}, hashtext($1)) as taken`,
        [name],
      );
      if (taken) {
        return;
      }
      if (performance.now() >= end) {
        throw new EngineTablesError(
          `Another process has worked on the schema "${name}" for more than ` +
            `${Math.ceil(
              patienceMs / 1000,
            )} s. Look for it in pg_stat_activity`,
        );
      }
      await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /**
   * Repeats work that takes locks on tables which others use, until it gets them.
   *
   * @throws {@link EngineTablesError} when the patience is over
   */
  async withLockRetries<T>(
    title: string,
    { patienceMs, signal }: WaitOptions,
    attempt: () => Promise<T>,
  ): Promise<T> {
    const end = performance.now() + patienceMs;
    for (
      let timeoutMs = FIRST_LOCK_TIMEOUT_MS;
      ;
      timeoutMs = Math.min(timeoutMs * GROWTH, LONGEST_LOCK_TIMEOUT_MS)
    ) {
      signal?.throwIfAborted();
      await this.setLockTimeout(timeoutMs);
      try {
        return await attempt();
      } catch (error) {
        if (!isLockFailure(error)) {
          throw error;
        }
        if (performance.now() >= end) {
          throw new EngineTablesError(
            `${title}: transactions of others have held the tables for ` +
              `${Math.ceil(
                patienceMs / 1000,
              )} s. Look for long ones in pg_stat_activity ` +
              'and pg_prepared_xacts',
            { cause: error },
          );
        }
      } finally {
        await this.setLockTimeout(0).catch(() => undefined);
      }
      // Random, so as not to coincide with a regular transaction each time.
      await delay(timeoutMs * (REST + Math.random()), undefined, { signal });
    }
  }

  /**
   * Drops a schema with all tables in it, if it exists.
   *
   * Locks: ACCESS EXCLUSIVE on the tables. It gives up after 100 ms to 2 s and comes again, so
   * that others who use them wait no longer.
   *
   * @param check - is called once nobody else uses the tables, and keeps them where it throws
   */
  async dropSchema(
    name: string,
    title: string,
    wait: WaitOptions,
    check: () => Promise<void> = async () => undefined,
  ): Promise<void> {
    await this.lock(name, { scope: 'session', ...wait });
    await this.withLockRetries(title, wait, () =>
      this.transaction(async () => {
        await this.query(
          `drop schema if exists ${escapeIdentifier(name)} cascade`,
        );
        await check();
      }),
    );
  }

  private async setLockTimeout(milliseconds: number): Promise<void> {
    await this.query(`select set_config('lock_timeout', $1, false)`, [
      `${Math.ceil(milliseconds)}ms`,
    ]);
  }

  /**
   * A Knex that has this connection alone, for upstream's migrations. All of them run in
   * the session that holds the lock: with a pool, a lost connection would be replaced by
   * one without it.
   */
  knex({ warn, change = sql => sql }: KnexOptions): Knex {
    const quiet = () => undefined;
    const knex = knexFactory({
      client: 'pg',
      log: { warn, error: warn, deprecate: quiet, debug: quiet },
    });
    const { client, messages } = this;
    const connection = {
      query(
        config: { text: string; values?: unknown[] },
        done: (error: unknown, result?: QueryResult | object) => void,
      ) {
        const end: typeof done = (error, result) => {
          if (error instanceof Error) {
            messages.set(error, error.message);
          }
          done(error, result);
        };
        const text = change(config.text);
        if (text === undefined) {
          end(null, { rows: [], rowCount: 0, command: '' });
        } else {
          client.query({ ...config, text }, end);
        }
      },
    };
    knex.client.acquireConnection = async () => connection;
    knex.client.releaseConnection = async () => undefined;
    return knex;
  }

  /** The message of an error of {@link TablesSession.knex}, without the statement. */
  messageOf(error: unknown): string {
    return error instanceof Error
      ? this.messages.get(error) ?? error.message
      : String(error);
  }
}

/**
 * SQL of the oids of tables for which a statement that reads them would wait: others have locked
 * them exclusively, or are about to.
 */
export const LOCKED_TABLES = `(
  select l.relation from pg_catalog.pg_locks l
    join pg_catalog.pg_database d on d.oid = l.database
   where d.datname = pg_catalog.current_database()
     and l.locktype = 'relation' and l.mode = 'AccessExclusiveLock')`;

/** Whether work on tables failed because of the locks of others. */
export function isLockFailure(error: unknown): boolean {
  return hasCode(error, ...LOCK_FAILURES);
}

/** Whether an error is one of PostgreSQL with one of these codes. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof DatabaseError && codes.includes(error.code ?? '');
}

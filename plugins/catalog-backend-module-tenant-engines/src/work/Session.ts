import { ServiceUnavailableError } from '@backstage/errors';
import {
  isProcessLent,
  sessionSettings,
} from 'backstage-catalog-tenancy-migrations';
import type { SilenceWatch } from 'backstage-plugin-catalog-tenancy-node';
import {
  Client,
  type ClientConfig,
  DatabaseError,
  escapeIdentifier,
  type QueryConfig,
  type QueryResult,
  type Submittable,
} from 'pg';

/** The pool of engines needs a session of PostgreSQL for each of its connections. */
export class PoolerError extends ServiceUnavailableError {}

/** How long a change to another schema may take. */
const SWITCH_MS = 60_000;
/** How long to wait for the end of an abandoned statement. */
const DRAIN_MS = 5_000;
const CLOSE_MS = 5_000;

/**
 * Statements that may leave settings, locks, channels or temporary tables on the session. A
 * function that changes the search path by itself is found otherwise: {@link Session.isUsable}.
 */
const LEAVES_STATE =
  /(^|;)\s*(set\s+(?!local\b|transaction\b)|reset|discard|listen|prepare|do|call|load)\b|\b(search_path|set_config|pg_(try_)?advisory_lock(_shared)?|temp(orary)?\s+(table|view|sequence)|with\s+hold)\b/i;

interface SessionOptions {
  connection: ClientConfig;
  applicationName: string;
  /** How long a statement waits for a lock, in milliseconds. */
  lockMs: number;
  /** How long the session may take to open, in milliseconds. */
  openMs: number;
  /** Ends the opening. */
  signal: AbortSignal;
  silence: SilenceWatch;
  /** Called when the connection was lost, or after an unexpected message of PostgreSQL. */
  onLost: (session: Session, error: Error) => void;
}

/** A session of PostgreSQL, in which the unqualified names are those of one schema at a time. */
export class Session {
  /** By the clock of `performance`. */
  readonly openedAt = performance.now();
  /** Whether PostgreSQL's own number of the session is another than that of the connection. */
  readonly isPooled: boolean;
  readonly pid: number;
  readonly #client: Client;
  readonly #silence: SilenceWatch;
  /** The path that this pool has set. */
  #path?: string;
  /** The path that PostgreSQL reports (18 and later), however it was set. */
  readonly #reported: () => string | undefined;
  readonly #schemas = new Set<string>();
  #isUsable = true;
  /** Called when all statements are answered, or the connection has ended; nothing without any. */
  #onAnswered?: () => void;
  #isLost = false;

  static async open(options: SessionOptions): Promise<Session> {
    const { applicationName, connection, lockMs, openMs, signal } = options;
    signal.throwIfAborted();
    const client = new Client({
      keepAlive: true,
      // Otherwise a vanished server would be noticed only after TCP's own timeout.
      keepAliveInitialDelayMillis: 10_000,
      ...connection,
      // Not enumerable where it was hidden.
      password: connection.password,
      application_name: applicationName,
    });
    let lost: Error | undefined;
    let onLost = (error: Error) => {
      lost = error;
    };
    // Without a listener the loss would end the process.
    client.on('error', error => onLost(error));
    client.on('end', () => onLost(new Error('The connection has ended')));
    const reported = searchPathReportedTo(client);
    const giveUp = () => client.connection.stream.destroy();
    const timer = setTimeout(giveUp, openMs);
    signal.addEventListener('abort', giveUp);
    try {
      await client.connect();
      // The name again, since a connection string may have one.
      const { rows } = await client.query<{ pid: number }>(
        `select pg_catalog.pg_backend_pid() as pid,
                pg_catalog.set_config('application_name', $1, false)`,
        [applicationName],
      );
      // What plugins rely on, whatever the database or the login is given for its sessions.
      // How long a statement may work is the operator's to say.
      await client.query(
        sessionSettings({ row_security: 'on', lock_timeout: `${lockMs}` }),
      );
      if (lost) {
        throw lost;
      }
      const session = new Session(client, {
        ...options,
        pid: rows[0].pid,
        reported,
      });
      onLost = error => {
        session.#isUsable = false;
        session.#isLost = true;
        options.onLost(session, error);
      };
      return session;
    } catch (error) {
      await close(client);
      throw error instanceof DatabaseError
        ? error
        : new ServiceUnavailableError("PostgreSQL can't be reached", error);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
    }
  }

  private constructor(
    client: Client,
    {
      pid,
      reported,
      silence,
    }: Pick<SessionOptions, 'silence'> & {
      pid: number;
      reported: () => string | undefined;
    },
  ) {
    this.#client = client;
    this.#silence = silence;
    this.pid = pid;
    // The types of `pg` do not list it. Without it, each session counts as pooled.
    this.isPooled =
      (client as Client & { processID: number | null }).processID !== pid;
    // A pooler may send a value of another of its connections.
    this.#reported = this.isPooled ? () => undefined : reported;
    const answered = () => {
      this.#onAnswered?.();
      this.#onAnswered = undefined;
    };
    client.on('drain', answered);
    client.on('end', answered);
  }

  /** PostgreSQL's number of the process that answers at the moment: `pid`, but for poolers. */
  async currentPid(): Promise<number> {
    const query = {
      text: 'select pg_catalog.pg_backend_pid() as pid',
      query_timeout: CLOSE_MS,
    };
    const { rows } = await this.#client.query<{ pid: number }>(query);
    return rows[0].pid;
  }

  /** Whether the connection is gone, and with it the answers to the statements under way. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** How many schemas it has worked in: its caches grow with each. */
  get schemaCount(): number {
    return this.#schemas.size;
  }

  isIn(schema: string): boolean {
    return this.#path === escapeIdentifier(schema);
  }

  /**
   * Makes the unqualified names those of a schema.
   *
   * @throws on a failure, after which the session must not be used
   */
  async switchTo(schema: string): Promise<void> {
    const path = escapeIdentifier(schema);
    this.#path = undefined;
    this.#isUsable = false;
    const query = {
      text: `select pg_catalog.set_config('search_path', $1, false),
                    pg_catalog.pg_backend_pid() as pid`,
      values: [path],
      query_timeout: SWITCH_MS,
    };
    const { rows } = await this.#client.query<{ pid: number }>(query);
    if (rows[0].pid !== this.pid) {
      throw poolerError();
    }
    this.#path = path;
    this.#isUsable = true;
    this.#schemas.add(schema);
  }

  /**
   * Begins a transaction. In the same message it asks for the search path, unless PostgreSQL
   * reports each change: behind a pooler that does not keep sessions it is that of another.
   *
   * @throws on a failure
   */
  async begin(sql: string): Promise<void> {
    this.#note(sql);
    if (this.#reported() !== undefined) {
      await this.#client.query(sql);
      return;
    }
    // Several statements have several results, which the types do not say.
    const results = await this.#client.query(`${sql} show search_path`);
    const { rows } = [results].flat().at(-1)!;
    if (rows[0].search_path !== this.#path) {
      this.#isUsable = false;
      throw this.isPooled
        ? poolerError()
        : new Error('A function has changed the search path');
    }
  }

  query(config: QueryConfig): Promise<QueryResult> {
    this.#note(config.text);
    return this.#client.query(config);
  }

  /** For streams, and for queries that emit their rows. */
  submit(query: Submittable & { text?: string }): void {
    this.#note(query.text ?? '');
    this.#client.query(query);
  }

  /**
   * Whether another plugin may use the session: no statement of the last one runs, and none of
   * its state is left. An abandoned statement has a few seconds to end.
   */
  async isUsable(): Promise<boolean> {
    if (this.#isUsable && this.#onAnswered) {
      await this.#drained();
    }
    const reported = this.#reported();
    return (
      this.#isUsable &&
      !this.#onAnswered &&
      this.#client.getTransactionStatus() === 'I' &&
      (reported === undefined || !this.#path || reported === this.#path)
    );
  }

  /** Resolves when the connection has ended, within seconds; it never rejects. */
  async close(): Promise<void> {
    await close(this.#client);
  }

  #note(sql: string): void {
    if (!this.#onAnswered && !this.#isLost) {
      const answered = new Promise<void>(resolve => {
        this.#onAnswered = resolve;
      });
      this.#silence.until(answered, {
        close: () => this.#client.connection.stream.destroy(),
        pid: () => this.pid,
      });
    }
    if (LEAVES_STATE.test(sql)) {
      this.#isUsable = false;
    }
  }

  async #drained(): Promise<void> {
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, DRAIN_MS);
      const end = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#client.once('drain', end);
      this.#client.once('end', end);
    });
  }
}

/** @throws `PoolerError` where a pooler between this pool and PostgreSQL lends sessions */
export async function requireSessionPooling(
  session: Session,
  {
    connection,
    applicationName,
    signal,
  }: Pick<SessionOptions, 'connection' | 'applicationName' | 'signal'>,
): Promise<void> {
  const isLent = await isProcessLent(
    session.pid,
    () => session.currentPid(),
    {
      ...connection,
      password: connection.password,
      application_name: applicationName,
    },
    signal,
  ).catch(error => {
    throw new PoolerError(
      `A pooler between the catalog engines and PostgreSQL has to keep a session for each ` +
        `connection (PgBouncer: pool_mode = session). Whether it does can't be found out ` +
        `with a second connection: ${error.message}`,
    );
  });
  if (isLent) {
    throw poolerError();
  }
}

function poolerError(): PoolerError {
  return new PoolerError(
    'A pooler between the catalog engines and PostgreSQL shares one session among several ' +
      'connections, so that a statement could run in the schema of another tenant. Expected: ' +
      'session pooling (PgBouncer: pool_mode = session), or no pooler',
  );
}

/** PostgreSQL 18 and later send it at the start and at each change. */
function searchPathReportedTo(client: Client): () => string | undefined {
  let path: string | undefined;
  client.connection.on(
    'parameterStatus',
    ({ parameterName, parameterValue }: Record<string, string>) => {
      if (parameterName === 'search_path') {
        path = parameterValue;
      }
    },
  );
  return () => path;
}

async function close(client: Client): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), CLOSE_MS);
  // It rejects if the connection is already lost.
  await client.end().catch(() => undefined);
  clearTimeout(timer);
}

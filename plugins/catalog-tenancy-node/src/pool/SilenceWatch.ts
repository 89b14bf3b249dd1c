import { Client, type ClientConfig } from 'pg';

/** How long a statement may go without an answer before the server is asked for its session. */
const SILENCE_MS = 30_000;

/** How long the server may take to answer that. */
const ANSWER_MS = 15_000;

// An error of the driver, which has no code, before a session begins. A pooler whose connections to the
// server are all in use begins one, and is not silent.
const TIMED_OUT = 'timeout expired';

/** The sessions of the server; undefined where that could not be asked. */
type Sessions = ReadonlySet<number> | 'silent' | undefined;

/**
 * Closes connections that are dead though nothing closed them, such as those of a proxy that has
 * stopped: statements that wait for a lock have no time limit.
 *
 * @public
 */
export class SilenceWatch {
  readonly #connection: ClientConfig;
  #asked: Promise<Sessions> | undefined;

  constructor(connection: ClientConfig) {
    this.#connection = connection;
  }

  /**
   * Waits for answers.
   *
   * @param connection - that they come from: `pid` is the process of the server, where it is known
   */
  async until<T>(
    answers: Promise<T>,
    { close, pid }: { close: () => void; pid: () => number | undefined },
  ): Promise<T> {
    const timer = setInterval(async () => {
      const sessions = await this.#ask();
      const process = pid();
      if (
        sessions === 'silent' ||
        (sessions && process !== undefined && !sessions.has(process))
      ) {
        close();
      }
    }, SILENCE_MS);
    try {
      return await answers;
    } finally {
      clearInterval(timer);
    }
  }

  /** Asks once for all connections that wait. */
  #ask(): Promise<Sessions> {
    this.#asked ??= this.#readSessions().finally(() => {
      this.#asked = undefined;
    });
    return this.#asked;
  }

  async #readSessions(): Promise<Sessions> {
    const client = new Client({
      ...this.#connection,
      // It may not be enumerable.
      password: this.#connection.password,
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number }>(
        'select pid from pg_catalog.pg_stat_activity',
      );
      return new Set(rows.map(({ pid }) => pid));
    } catch (error) {
      return (error as Error).message === TIMED_OUT ? 'silent' : undefined;
    } finally {
      client.end().catch(() => undefined);
    }
  }
}

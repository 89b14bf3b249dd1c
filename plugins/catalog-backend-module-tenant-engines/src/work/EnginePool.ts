import type { LoggerService } from '@backstage/backend-plugin-api';
import { ServiceUnavailableError } from '@backstage/errors';
import createKnex, { type Knex } from 'knex';
import { AsyncResource } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import type { ClientConfig } from 'pg';
import { BackgroundWork } from './BackgroundWork';
import {
  LazyConnection,
  type StatementGate,
  type TakenSession,
} from './LazyConnection';
import { type PoolStats, type SessionLimits, SessionPool } from './SessionPool';

/** The tenant of a schema such as `tenant_<id without dashes>_<plugin>`. */
function tenantOf(schema: string): string | undefined {
  const parts = /^tenant_(.{8})(.{4})(.{4})(.{4})(.{12})(_|$)/.exec(schema);
  return parts?.slice(1, 6).join('-');
}

/** A Knex instance whose unqualified names are those of one schema. */
export interface SchemaDatabase {
  readonly knex: Knex;
  /** From then on no statement gets a connection, also none that still runs or waits. */
  close(): void;
}

interface EnginePoolOptions {
  /**
   * The name of all its sessions in `pg_stat_activity`, of 63 bytes at most, by which a
   * fence finds them; `backstage catalog engines` by default.
   */
  applicationName?: string;
  /** How the catalog plugin connects to its own database. */
  connection: ClientConfig;
  limits?: Partial<SessionLimits>;
  /** Connections for all engines together. */
  max: number;
  logger: LoggerService;
  /** Called with the milliseconds for which a tenant had a connection. */
  onWork?: (tenantId: string, ms: number) => void;
}

/**
 * The connections of all engines of this process to one database.
 *
 * Each engine works in its own schema: a connection that last worked in another gets its
 * `search_path` before the engine gets the connection. The setting is one of the session,
 * so that a pooler between this pool and PostgreSQL has to keep sessions. One that does not
 * is refused.
 */
export class EnginePool {
  readonly #connection: ClientConfig;
  readonly #logger: LoggerService;
  readonly #onWork: EnginePoolOptions['onWork'];
  readonly #sessions: SessionPool;

  /** Connects at the first statement. */
  constructor(options: EnginePoolOptions) {
    const { applicationName = 'backstage catalog engines' } = options;
    this.#logger = options.logger;
    this.#onWork = options.onWork;
    // Not enumerable where it was hidden.
    this.#connection = Object.defineProperty(
      { ...options.connection, application_name: applicationName },
      'password',
      { value: options.connection.password, enumerable: false },
    );
    this.#sessions = new SessionPool({
      ...options,
      applicationName,
      connection: this.#connection,
    });
  }

  /** For metrics. */
  stats(): PoolStats {
    return this.#sessions.stats;
  }

  /**
   * For statements that name their schemas.
   *
   * @param schema - of the tenant whose share of the sessions the statement counts for; none for
   * one that is of no tenant, and waits for no table of one
   */
  async query<TRow extends object>(
    sql: string,
    values: unknown[],
    schema?: string,
  ): Promise<TRow[]> {
    const session = await this.#sessions.acquire(schema);
    try {
      const { rows } = await session.query({ text: sql, values });
      return rows;
    } finally {
      await this.#sessions.release(session);
    }
  }

  /**
   * @param schema - the only schema, besides `pg_catalog`, that unqualified names are looked up in
   * @param options - `gate` decides which statements get a connection
   */
  forSchema(
    schema: string,
    { gate }: { gate?: StatementGate } = {},
  ): SchemaDatabase {
    const closing = new AbortController();
    // Each statement that waits is one.
    setMaxListeners(0, closing.signal);
    const debug = (message: string) => this.#logger.debug(message);
    const sessions = this.#sessions;
    const knex = createKnex({
      client: 'pg',
      // The caller gets the failure too.
      log: { warn: debug, error: debug, deprecate: debug, debug },
      // Knex asks each pool for it otherwise, to know whether json types exist.
      version: '14',
      connectionPool: {
        connect: async () => {
          closing.signal.throwIfAborted();
          return new LazyConnection({
            gate,
            take: released => this.#take(schema, [closing.signal, released]),
          });
        },
        end: async () => undefined,
        get totalCount() {
          return sessions.stats.sessions;
        },
        get idleCount() {
          return sessions.stats.idle;
        },
        get waitingCount() {
          return sessions.stats.waiting;
        },
      },
    });
    // For a connection of its own, over which Knex cancels a statement.
    knex.client.connectionSettings = this.#connection;
    return {
      knex,
      close() {
        closing.abort(
          new ServiceUnavailableError('The engine has been stopped'),
        );
      },
    };
  }

  async close(): Promise<void> {
    await this.#sessions.close();
  }

  /** @param signals - end the waiting, with their reasons */
  async #take(schema: string, signals: AbortSignal[]): Promise<TakenSession> {
    // In the context of the statement: sessions are returned, and leases change, in other
    // contexts.
    const work = BackgroundWork.current();
    const waiting = new AbortController();
    const check = AsyncResource.bind(() => {
      try {
        signals.forEach(signal => signal.throwIfAborted());
        work?.check();
      } catch (error) {
        waiting.abort(error);
      }
    });
    // A waiting statement counts as running.
    const leave = work?.enter();
    const stopListening = work?.onChange(check);
    signals.forEach(signal => signal.addEventListener('abort', check));
    try {
      const session = await this.#sessions.acquire(schema, waiting.signal);
      // The lease may have gone meanwhile.
      check();
      if (waiting.signal.aborted) {
        await this.#sessions.release(session);
        throw waiting.signal.reason;
      }
      const began = performance.now();
      return {
        session,
        release: async destroy => {
          const tenantId = tenantOf(schema);
          if (tenantId) {
            this.#onWork?.(tenantId, performance.now() - began);
          }
          await this.#sessions.release(session, { destroy });
          leave?.();
        },
      };
    } catch (error) {
      leave?.();
      throw error;
    } finally {
      signals.forEach(signal => signal.removeEventListener('abort', check));
      stopListening?.();
    }
  }
}

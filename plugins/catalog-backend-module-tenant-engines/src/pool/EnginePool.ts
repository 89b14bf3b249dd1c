import type { LoggerService } from '@backstage/backend-plugin-api';
import { ServiceUnavailableError } from '@backstage/errors';
import createKnex, { type Knex } from 'knex';
import { type ClientConfig, Pool, type PoolClient } from 'pg';
import { BackgroundWork } from '../work/BackgroundWork';
import { LazyConnection, type TakenSession } from './LazyConnection';
import type { StatementGate } from './StatementGate';

/** A Knex instance whose unqualified names are those of one schema. */
export interface SchemaDatabase {
  readonly knex: Knex;
  /** From then on nothing gets a connection, whatever still runs. */
  close(): void;
}

interface EnginePoolOptions {
  /** How the catalog plugin connects to its own database. */
  connection: ClientConfig;
  /** Connections for all engines together. */
  max: number;
  logger: LoggerService;
}

/**
 * The connections of all engines of this process.
 *
 * Each engine works in its own schema: a connection that last worked in another gets its
 * `search_path` before the engine gets the connection. The setting is one of the session,
 * so that a pooler between this pool and PostgreSQL has to keep sessions.
 */
export class EnginePool {
  readonly #connection: ClientConfig;
  readonly #logger: LoggerService;
  readonly #pool: Pool;
  /** The `search_path` of each connection; none before the first use. */
  readonly #paths = new WeakMap<PoolClient, string>();

  /** It connects at the first query. */
  static create(options: EnginePoolOptions): EnginePool {
    return new EnginePool(options);
  }

  private constructor({ connection, max, logger }: EnginePoolOptions) {
    this.#connection = connection;
    this.#logger = logger;
    this.#pool = new Pool({
      fallback_application_name: 'backstage catalog engines',
      keepAlive: true,
      // Or a server that vanished would be waited for as long as TCP does.
      keepAliveInitialDelayMillis: 10_000,
      ...connection,
      // Not enumerable where it was hidden.
      password: connection.password,
      max,
      idleTimeoutMillis: 30_000,
      connectionTimeoutMillis: 60_000,
    });
    this.#pool.on('connect', client => {
      // The statement at work fails with the connection; without a listener the loss
      // would end the process.
      client.on('error', () => undefined);
    });
    this.#pool.on('error', error =>
      logger.info(`An idle connection was lost: ${error.message}`),
    );
  }

  /** For statements that name their schemas. */
  async query<TRow extends object>(
    sql: string,
    values: unknown[],
  ): Promise<TRow[]> {
    const { rows } = await this.#pool.query<TRow>(sql, values);
    return rows;
  }

  /**
   * @param schema - the only schema, besides `pg_catalog`, that unqualified names are looked up in
   * @param options - `gate` decides which statements get a connection
   */
  forSchema(
    schema: string,
    { gate }: { gate?: StatementGate } = {},
  ): SchemaDatabase {
    const path = `"${schema.replaceAll('"', '""')}"`;
    let isClosed = false;
    const throwIfClosed = () => {
      if (isClosed) {
        throw new ServiceUnavailableError('The engine has been stopped');
      }
    };
    const logger = this.#logger;
    const pool = this.#pool;
    const knex = createKnex({
      client: 'pg',
      // What fails, fails for its caller too.
      log: {
        warn: message => logger.debug(message),
        error: message => logger.debug(message),
        deprecate: message => logger.debug(message),
        debug: message => logger.debug(message),
      },
      // Knex asks each pool for it otherwise, to know whether json types exist.
      version: '14',
      connectionPool: {
        connect: async () => {
          throwIfClosed();
          return new LazyConnection({
            gate,
            take: async () => {
              throwIfClosed();
              const leave = BackgroundWork.current()?.enter();
              try {
                return await this.#take(path, leave);
              } catch (error) {
                leave?.();
                throw error;
              }
            },
          });
        },
        end: async () => undefined,
        get totalCount() {
          return pool.totalCount;
        },
        get idleCount() {
          return pool.idleCount;
        },
        get waitingCount() {
          return pool.waitingCount;
        },
      },
    });
    // For a connection of its own, over which Knex cancels a statement.
    knex.client.connectionSettings = this.#connection;
    return {
      knex,
      close() {
        isClosed = true;
      },
    };
  }

  /** How many sessions there are, and how many calls wait for one. */
  stats(): { used: number; idle: number; waiting: number; max: number } {
    const { totalCount, idleCount, waitingCount, options } = this.#pool;
    return {
      used: totalCount - idleCount,
      idle: idleCount,
      waiting: waitingCount,
      max: options.max,
    };
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #take(path: string, leave?: () => void): Promise<TakenSession> {
    const client = await this.#pool.connect();
    if (this.#paths.get(client) !== path) {
      // In doubt about the schema, the connection belongs to none.
      this.#paths.delete(client);
      try {
        await client.query(`set search_path to ${path}`);
      } catch (error) {
        client.release(true);
        throw error;
      }
      this.#paths.set(client, path);
    }
    return {
      processID: (client as PoolClient & { processID: number }).processID,
      begin: async sql => {
        await client.query(sql);
      },
      query: (config, callback) => client.query(config, callback),
      submit: query => {
        client.query(query);
      },
      release(destroy) {
        leave?.();
        // Knex also returns a connection whose rollback has timed out.
        client.release(destroy || client.getTransactionStatus() !== 'I');
      },
    };
  }
}

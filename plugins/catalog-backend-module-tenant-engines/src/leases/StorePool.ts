import { sessionSettings } from 'backstage-catalog-tenancy-migrations';
import { type ClientConfig, Pool, type PoolClient, type PoolConfig } from 'pg';

/** The few sessions of a store, which waits for no others. It connects at the first call. */
export class StorePool {
  readonly #pool: Pool;
  readonly #settings: string;
  readonly #prepared = new WeakSet<PoolClient>();

  /** @param settings - of each session, beside those on which all of ours depend */
  constructor({
    connection,
    settings,
    ...options
  }: PoolConfig & {
    connection: ClientConfig;
    settings: Readonly<Record<string, string>>;
  }) {
    this.#settings = sessionSettings(settings);
    this.#pool = new Pool({
      ...connection,
      // Not enumerable where it was hidden.
      password: connection.password,
      keepAlive: true,
      ...options,
    });
    // A running statement fails for its caller. Without a listener, the error would end the
    // process.
    this.#pool.on('connect', client => client.on('error', () => undefined));
    this.#pool.on('error', () => undefined);
  }

  async query<TRow extends object>(
    sql: string,
    values?: unknown[],
  ): Promise<TRow[]> {
    return this.lend(
      async client => (await client.query<TRow>(sql, values)).rows,
    );
  }

  /** Lends a session, which is closed if the work fails: a statement may still run. */
  async lend<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let isDone = false;
    try {
      if (!this.#prepared.has(client)) {
        await client.query(this.#settings);
        this.#prepared.add(client);
      }
      const result = await work(client);
      isDone = true;
      return result;
    } finally {
      client.release(!isDone);
    }
  }

  /** The same for a transaction. */
  async transaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.lend(async client => {
      await client.query('begin');
      const result = await work(client);
      await client.query('commit');
      return result;
    });
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

import { waitUntil } from '@internal/postgres/testUtils';
import type { Client } from 'pg';
import type { TenantDatabase } from '../../database/TenantDatabase';

const LOCK = 5_120_001;

/**
 * A database whose first read has its snapshot and gets no answer until it is let: it
 * waits for a lock that a client of the server holds.
 */
export class FirstReadHeld implements TenantDatabase {
  readonly #database: TenantDatabase;
  readonly #client: Client;
  /** How many reads were sent. */
  sent = 0;

  static async create(
    database: TenantDatabase,
    client: Client,
  ): Promise<FirstReadHeld> {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    return new FirstReadHeld(database, client);
  }

  private constructor(database: TenantDatabase, client: Client) {
    this.#database = database;
    this.#client = client;
  }

  readonly query: TenantDatabase['query'] = (tenantId, build) => {
    this.sent += 1;
    return this.#database.query(
      tenantId,
      this.sent > 1
        ? build
        : scope =>
            scope.knex.raw(
              `with held as materialized (select pg_advisory_xact_lock_shared(?))
               select read.* from held, (?) read`,
              [LOCK, build(scope)],
            ),
    );
  };

  readonly transaction: TenantDatabase['transaction'] = (tenantId, work) =>
    this.#database.transaction(tenantId, work);

  /** Resolves when the first read waits for the lock. */
  async untilHeld(): Promise<void> {
    await waitUntil('the first read to wait', async () => {
      const { rowCount } = await this.#client.query(
        `select from pg_locks where locktype = 'advisory' and objid = $1 and not granted
            and database = (select oid from pg_database where datname = current_database())`,
        [LOCK],
      );
      return rowCount;
    });
  }

  async letGo(): Promise<void> {
    await this.#client.query('select pg_advisory_unlock($1)', [LOCK]);
  }
}

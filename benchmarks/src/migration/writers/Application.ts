import type { Postgres } from '@internal/postgres';
import { Client } from 'pg';
import { OLD_LOGIN, PASSWORD } from '../catalog';
import type { Database } from '../database';
import { APP_ROLE, DEFAULT_TENANT_ID } from '../engine';
import { SCHEMA } from '../operator';

/** A version of the application: as whom it connects, and for which tenant. */
export interface Application {
  login: string;
  /** The one of before the migration has never heard of tenants. */
  tenantId?: string;
}

/** The application of before phase 3. */
export const OLD: Application = { login: OLD_LOGIN };

/** The application that phase 3 stands for. */
export const NEW: Application = {
  login: APP_ROLE,
  tenantId: DEFAULT_TENANT_ID,
};

/** One connection of an application. */
export class Session {
  static async open(
    { postgres, name }: Database,
    application: Application,
  ): Promise<Session> {
    const client = new Client({
      ...connectionOf(postgres, application),
      database: name,
      options: `-c search_path=${SCHEMA}`,
      application_name: 'benchmark writer',
    });
    await client.connect();
    return new Session(client, application);
  }

  readonly #client: Client;
  readonly #tenantId?: string;
  #commitSentAt = 0;

  private constructor(client: Client, { tenantId }: Application) {
    this.#client = client;
    this.#tenantId = tenantId;
  }

  /** When the last COMMIT was sent, in milliseconds of `performance.now()`. */
  get commitSentAt(): number {
    return this.#commitSentAt;
  }

  /** Does something in a transaction, for the tenant if there is one. */
  async transaction(work: () => Promise<void>): Promise<void> {
    await this.#client.query('begin');
    try {
      if (this.#tenantId !== undefined) {
        await this.#client.query(
          `select set_config('app.tenant_id', $1, true)`,
          [this.#tenantId],
        );
      }
      await work();
      this.#commitSentAt = performance.now();
      await this.#client.query('commit');
    } catch (error) {
      await this.#client.query('rollback');
      throw error;
    }
  }

  /**
   * Changes the rows of one entity.
   *
   * @param where - compares a column with `$1`; the tenant is added to it
   * @throws Error if it changes another number of rows than expected
   */
  async change(
    statement: string,
    where: string,
    values: unknown[],
    expectedRows?: number,
  ): Promise<void> {
    const scope =
      this.#tenantId === undefined
        ? ''
        : ` and tenant_id = $${values.length + 1}`;
    const { rowCount } = await this.#client.query(
      `${statement} where ${where}${scope}`,
      this.#tenantId === undefined ? values : [...values, this.#tenantId],
    );
    if (expectedRows !== undefined && rowCount !== expectedRows) {
      throw new Error(
        `${rowCount} rows instead of ${expectedRows} were changed by: ${statement}`,
      );
    }
  }

  /** Inserts rows, each given by its columns. */
  async insert(table: string, rows: Record<string, unknown>[]): Promise<void> {
    const tenant =
      this.#tenantId === undefined ? {} : { tenant_id: this.#tenantId };
    const complete = rows.map(row => ({ ...row, ...tenant }));
    const columns = Object.keys(complete[0]);
    const values = complete.flatMap(row => Object.values(row));
    const lists = complete.map(
      (_, row) =>
        `(${columns
          .map((__, column) => `$${row * columns.length + column + 1}`)
          .join(', ')})`,
    );
    await this.#client.query(
      `insert into ${table} (${columns.join(', ')}) values ${lists.join(', ')}`,
      values,
    );
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}

function connectionOf({ connection }: Postgres, { login }: Application) {
  return { ...connection, user: login, password: PASSWORD };
}

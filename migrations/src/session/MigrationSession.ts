import { Client, DatabaseError } from 'pg';
import type { ClientConfig } from 'pg';
import { escapeIdentifier } from '../schema/sql';
import { ConnectionLostError } from '../errors';

// `row_security = off` makes PostgreSQL refuse what row-level security would
// filter: under FORCE an owner copies 0 rows and validates foreign keys over
// orphans, without a word.
const SETTINGS = [
  'set row_security = off',
  'set statement_timeout = 0',
  'set idle_in_transaction_session_timeout = 0',
  'set lock_timeout = 0',
  'set client_min_messages = warning',
  "set timezone = 'UTC'",
];

// A server whose client was killed notices it within a second, also in the middle
// of a statement, and so frees the operator's lock.
const CHECK_CLIENT = 'set client_connection_check_interval = 1000';

// Class 57P: terminated, crash or shutdown of the server; class 08: connection.
const SESSION_ENDED = /^(57P0[123]|08)/;

export interface SessionOptions {
  connection: ClientConfig;
  schema: string;
  /** Shown by `pg_stat_activity`: what is done, and by whom. */
  applicationName: string;
}

/**
 * The one connection on which a command works.
 *
 * It is not pooled: its advisory lock and its settings belong to the session, so
 * a connection that is lost ends the command, rather than being replaced by one
 * that has neither.
 */
export class MigrationSession {
  static async open(options: SessionOptions): Promise<MigrationSession> {
    const client = new Client({
      ...options.connection,
      application_name: options.applicationName.slice(0, 63),
      keepAlive: true,
    });
    const session = new MigrationSession(client);
    try {
      await client.connect();
      await session.query(MigrationSession.settings(options.schema));
      // Not every platform of a server has it.
      await session.query(CHECK_CLIENT).catch(() => undefined);
    } catch (error) {
      await session.close();
      throw error;
    }
    return session;
  }

  /** The settings on which the statements of the steps rely. */
  static settings(schema: string): string {
    return [
      ...SETTINGS,
      // Only our schema: beside Backstage's own catalog, a name that is not found
      // there must not fall through to a table of Backstage's in `public`.
      `set search_path = ${escapeIdentifier(schema)}`,
    ].join(';\n');
  }

  private lost = false;

  private constructor(private readonly client: Client) {
    // Without a listener the process would end on the spot. The query at work
    // fails as well, and that is what is reported.
    client.on('error', () => {
      this.lost = true;
    });
    client.on('end', () => {
      this.lost = true;
    });
  }

  /**
   * The process of the server as it was named in the greeting. A pooler that hands
   * out connections of its own names something else there.
   */
  get serverPid(): number | undefined {
    // Missing from the types of pg.
    return (this.client as { processID?: number }).processID;
  }

  /**
   * Runs a statement, or several without values, and resolves to the rows of the
   * last one.
   *
   * @throws {@link ConnectionLostError} if the connection has ended
   */
  async query<Row = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<Row[]> {
    try {
      const result = await this.client.query(text, values);
      const last = Array.isArray(result) ? result[result.length - 1] : result;
      return last.rows as Row[];
    } catch (error) {
      throw this.explain(error);
    }
  }

  /** The result of a transaction, which is rolled back if `work` fails. */
  async transaction<T>(begin: string, work: () => Promise<T>): Promise<T> {
    await this.query(begin);
    try {
      const result = await work();
      await this.query('commit');
      return result;
    } catch (error) {
      await this.rollback();
      throw error;
    }
  }

  /** Ends a transaction that has failed; a connection that is gone has none. */
  async rollback(): Promise<void> {
    await this.client.query('rollback').catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }

  private explain(error: unknown): unknown {
    const ended =
      error instanceof DatabaseError
        ? error.code !== undefined && SESSION_ENDED.test(error.code)
        : this.lost;
    return ended
      ? new ConnectionLostError(
          'The connection to the database was lost. What was committed stays: ' +
            'run the same command again, and it goes on from there.',
        )
      : error;
  }
}

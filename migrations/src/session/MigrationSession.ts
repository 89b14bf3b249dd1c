import { Client, DatabaseError } from 'pg';
import type { ClientConfig } from 'pg';
import { escapeIdentifier } from '../sql';
import {
  CancelledError,
  ConnectionLostError,
  DiskFullError,
  FOREIGN,
  namesTaken,
  ReadOnlyServerError,
  RefusedError,
} from '../errors';
import { atMost } from '../atMost';
import { ADMIN_ROLE, APP_ROLE } from '../roles';
import {
  ADMIN_POLICY,
  adminPolicyStatement,
  hidesRows,
  TENANT_SETTING,
} from '../schema/policies';
import { endsSession, explainConnect } from './explainConnect';
import {
  KEEP_STARTING_ROLE,
  RESET_OWNER_ROLE,
  SET_OWNER_ROLE,
} from './ownerRole';
import { requireSession } from './pooling';
import { sessionSettings } from './sessionSettings';

/** Besides those of every session: how long a command may last, and what it creates. */
const SETTINGS: Readonly<Record<string, string>> = {
  // A query that row-level security would filter fails. Under FORCE an owner would copy
  // 0 rows, and validate foreign keys over orphans, without an error.
  row_security: 'off',
  // A login may have a tenant set. Without one a policy for tenants fails, and hides nothing.
  [TENANT_SETTING]: '',
  // The duration of a command depends on the tables and on other transactions.
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  lock_timeout: '0',
  timezone: 'UTC',
  check_function_bodies: 'on',
  default_table_access_method: 'heap',
  // PostgreSQL creates no partitioned table where it names the tablespace of the database.
  default_tablespace: '',
  // Compiling takes longer than most statements run.
  jit: 'off',
  client_min_messages: 'warning',
};

// PostgreSQL has it since 17.
const CONDITIONAL = { transaction_timeout: '0' };

// The tables of tenants of which portal_admin, the current role, does not see all rows.
const HIDDEN_TABLES = `select c.relname as name from pg_class c
  where c.relnamespace = quote_ident(current_schema())::regnamespace
    and c.relkind in ('r', 'p') and c.relowner = (
      select oid from pg_roles where rolname = '${ADMIN_ROLE}')
    and ${hidesRows('c')}
  order by 1`;

// What a command reports as done survives a crash of the server. Levels above `off` stay.
const DURABLE = `select pg_catalog.set_config('synchronous_commit', 'on', false)
 where pg_catalog.current_setting('synchronous_commit') = 'off'`;

// The server notices within a second that the client was killed, also during a statement,
// and releases the operator's lock.
const CHECK_CLIENT = 'set client_connection_check_interval = 1000';

// A server that never answers would hold a command for ever; a busy one may take seconds.
const CONNECT_TIMEOUT_MS = 60_000;

// A proxy that has stopped never closes a connection.
const CLOSE_MS = 5_000;

const INSUFFICIENT_PRIVILEGE = '42501';
const QUERY_CANCELED = '57014';
const DISK_FULL = '53100';
const READ_ONLY = '25006';
const UNTRANSLATABLE = '22P05';
// Of a schema, a table, an object, a function or a column: a name that was taken a moment ago.
const DUPLICATES = ['42P06', '42P07', '42710', '42723', '42701'];

export interface SessionOptions {
  connection: ClientConfig;
  schema: string;
  /** Shown by `pg_stat_activity`: the command and its operator. */
  applicationName: string;
  /** Has the session while it is open. */
  sessions?: Set<MigrationSession>;
}

/**
 * The connection of a command.
 *
 * It is not pooled: its advisory lock and its settings belong to the session. A lost
 * connection ends the command, because a new one would have neither.
 */
export class MigrationSession {
  static async open(options: SessionOptions): Promise<MigrationSession> {
    const client = new Client({
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      ...options.connection,
      application_name: options.applicationName.slice(0, 63),
      keepAlive: true,
      // Otherwise a vanished server would be noticed only after TCP's own timeout.
      keepAliveInitialDelayMillis: 10_000,
    });
    const session = new MigrationSession(client, options);
    options.sessions?.add(session);
    try {
      await client.connect().catch(error => {
        throw explainConnect(error, options.connection);
      });
      session.serverPid = await requireSession(
        session,
        options.connection,
        // Missing from the types of pg.
        (client as { processID?: number }).processID,
      );
      await session
        .query(MigrationSession.settings(options.schema))
        .catch(error => {
          throw error.code === INSUFFICIENT_PRIVILEGE
            ? new RefusedError(
                `The session can't be given the settings that it needs: ${error.message}. ` +
                  'Reset them ("alter role … reset …", "alter database … reset …"), or connect as a superuser.',
              )
            : error;
        });
      // Some platforms of the server lack the setting.
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
      sessionSettings(SETTINGS, CONDITIONAL),
      DURABLE,
      KEEP_STARTING_ROLE,
      // This schema alone: a missing name must not resolve to a table of Backstage's own
      // catalog in `public`.
      `set search_path = ${escapeIdentifier(schema)}`,
    ].join(';\n');
  }

  /** The process of the server. */
  serverPid?: number;
  private lost = false;
  /** Row-level security could hide rows from the session without an error. */
  private isFiltered = false;
  private isInTransaction = false;
  /** The server's message when it ended the session while no query ran. */
  private reason: string | undefined;

  private constructor(
    private readonly client: Client,
    private readonly options: SessionOptions,
  ) {
    // An `error` event without a listener would end the process. The command reports the
    // error of its query, which fails as well.
    client.on('error', error => {
      this.lost = true;
      if (error instanceof DatabaseError) {
        this.reason = error.message;
      }
    });
    client.on('end', () => {
      this.lost = true;
    });
  }

  /**
   * Runs a statement, or several without values, and resolves to the rows of the
   * last one.
   *
   * Where row-level security could hide rows without an error, it first makes sure that it
   * hides none: before each statement outside of a transaction, and before each transaction,
   * whose first statement takes the snapshot.
   *
   * @throws {@link ConnectionLostError} if the connection has ended
   * @throws {@link CancelledError} if another session has cancelled the statement
   * @throws {@link DiskFullError} if the server has no room for it
   */
  async query<Row = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<Row[]> {
    if (this.isFiltered && !this.isInTransaction && text !== RESET_OWNER_ROLE) {
      await this.refuseHiddenRows();
    }
    const rows = await this.send<Row>(text, values);
    if (text === SET_OWNER_ROLE) {
      const [{ rowSecurity }] = rows as { rowSecurity?: string }[];
      this.isFiltered = rowSecurity === 'on';
    } else if (text === RESET_OWNER_ROLE) {
      this.isFiltered = false;
    }
    return rows;
  }

  private async refuseHiddenRows(): Promise<void> {
    const hidden = await this.send<{ name: string }>(HIDDEN_TABLES);
    if (hidden.length > 0) {
      const schema = escapeIdentifier(this.options.schema);
      throw new RefusedError(
        `${ADMIN_ROLE} has no BYPASSRLS and does not see all rows of ` +
          `${hidden.map(({ name }) => name).join(', ')}: the policy ` +
          `${ADMIN_POLICY} is missing there or another one, or a restrictive one binds it. ` +
          `Limit restrictive ones to ${APP_ROLE}, and run as ${ADMIN_ROLE}:\n` +
          `set search_path = ${schema};\n` +
          `${hidden
            .map(({ name }) => adminPolicyStatement(name))
            .join(';\n')};`,
      );
    }
  }

  private async send<Row>(text: string, values?: unknown[]): Promise<Row[]> {
    try {
      const result = await this.client.query(text, values);
      const last = Array.isArray(result) ? result[result.length - 1] : result;
      return last.rows as Row[];
    } catch (error) {
      // PostgreSQL may end the session with an error of any code, as for a conflict on a standby,
      // and `pg` does not tell its severity. Then it answers nothing more.
      if (error instanceof DatabaseError) {
        await this.client.query('').catch(() => undefined);
      }
      throw this.explain(error);
    }
  }

  /**
   * Runs the statements of a transaction in one message: no round trip while locks are held.
   *
   * @returns the rows of the last one
   */
  async queryAtOnce<Row = Record<string, unknown>>(
    statements: string[],
  ): Promise<Row[]> {
    try {
      return await this.query<Row>(statements.join(';\n'));
    } catch (error) {
      await this.rollback();
      throw error;
    }
  }

  /** The result of a transaction, which is rolled back if `work` fails. */
  async transaction<T>(begin: string, work: () => Promise<T>): Promise<T> {
    await this.query(begin);
    this.isInTransaction = true;
    try {
      const result = await work();
      await this.query('commit');
      return result;
    } catch (error) {
      await this.rollback();
      throw error;
    } finally {
      this.isInTransaction = false;
    }
  }

  /**
   * Waits on the server by pg_sleep: PostgreSQL ignores pg_cancel_backend for a session
   * that is idle.
   *
   * @throws {@link CancelledError} if another session cancels it
   */
  async pause(milliseconds: number): Promise<void> {
    await this.query('select pg_sleep($1)', [milliseconds / 1000]);
  }

  /** Rolls back, and ignores the error of a connection that has ended. */
  async rollback(): Promise<void> {
    await this.send('rollback').catch(() => undefined);
  }

  async close(): Promise<void> {
    this.options.sessions?.delete(this);
    await atMost(CLOSE_MS, [this.client.end()]);
  }

  private explain(error: unknown): unknown {
    if (!(this.lost || endsSession(error))) {
      return explainStatement(error);
    }
    const reason = error instanceof DatabaseError ? error.message : this.reason;
    return new ConnectionLostError(
      `The connection to the database was lost${
        reason ? ` (${reason})` : ''
      }. What was committed stays: run the same command again, and it goes on from there.`,
    );
  }
}

function explainStatement(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) {
    return error;
  }
  const { code = '', detail, message } = error;
  if (DUPLICATES.includes(code)) {
    return new RefusedError(
      `A name that the migration needs is taken: ${message}. Rename what stands there, or ` +
        'move it to another schema.',
    );
  }
  switch (code) {
    case DISK_FULL:
      return new DiskFullError(message);
    case READ_ONLY:
      return new ReadOnlyServerError();
    case UNTRANSLATABLE:
      // With a detail it is about an escape in JSON.
      return detail
        ? error
        : new RefusedError(
            `The database can't store a character: ${message}. Use one with the encoding UTF8.`,
          );
    case FOREIGN:
      return namesTaken([message]);
    // Without a statement_timeout it means a cancel by another session.
    case QUERY_CANCELED:
      return new CancelledError();
    default:
      return error;
  }
}

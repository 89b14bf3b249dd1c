import type { LoggerService } from '@backstage/backend-plugin-api';
import { serializeError } from '@backstage/errors';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type ClientConfig, escapeIdentifier, type PoolClient } from 'pg';
import { hasCode, TablesSession } from '../tables/TablesSession';
import { StorePool } from './StorePool';

/** The leases at one moment, by the clock of the database. */
export interface LeaseView {
  /** Processes that have not expired, among them this one. */
  processes: number;
  /** Whether another process has expired. */
  hasExpired: boolean;
  /** Leases of all processes. */
  leases: number;
  /** Leases of this process. */
  own: number;
  /** Changes with which these are. */
  ownDigest: string | null;
}

/** A process that has expired. */
export interface LostProcess {
  processId: string;
  /** The name in log messages. */
  name: string;
  /** The prefix of the `application_name` of all sessions that the process works with. */
  applicationName: string;
  tenantIds: string[];
}

/**
 * Ends the work of a lost process on a server, and returns when that process can write no more.
 *
 * @throws if it can't; the leases then stay with the lost process
 */
export type Fence = (lost: LostProcess) => Promise<void>;

interface LeaseStoreOptions {
  /** Of the catalog plugin's own database user, which may act as `portal_admin`. */
  connection: ClientConfig;
  /** The schema of the tenants' tables. */
  schema: string;
  processId: string;
  leaseMs: number;
  logger: LoggerService;
  /** The interval at which the engine of a tenant processes an item again, if it does. */
  intervalMsOf: (tenantId: string) => Promise<number | undefined>;
}

const ADMIN_ROLE = 'portal_admin';
const SHORTEST_TIMEOUT_MS = 1_000;
/** For how long a fence tries to end sessions. */
const FENCE_MS = 10_000;
/** Nearly the longest time for which an item is processed. */
const PROCESSING_MS = 30_000;
/** How long a takeover waits for a lock on the tables of one tenant. */
const LOCK_MS = 200;
/** The items that a lost process left become due spread over this time. */
const SPREAD_MS = 5_000;
const UNDEFINED_TABLE = '42P01';

/** The prefix of the names of all sessions in which a process does background work. */
export function applicationNameOf(processId: string): string {
  return `catalog engines ${processId}`;
}

/**
 * The leases of tenants in the database: the rows of `engine_processes` and `engine_leases`.
 *
 * Everything except a takeover is one statement outside of a transaction, so a process that is
 * paused between two statements holds no lock.
 */
export class LeaseStore {
  readonly #options: LeaseStoreOptions;
  /** After which a statement is given up. */
  readonly #timeoutMs: number;
  readonly #pool: StorePool;
  readonly #processes: string;
  readonly #leases: string;
  readonly #status: string;
  readonly #tenants: string;

  /** Connects at the first call. */
  constructor(options: LeaseStoreOptions) {
    this.#options = options;
    const { connection, leaseMs, processId, schema } = options;
    this.#timeoutMs = Math.max(leaseMs / 3, SHORTEST_TIMEOUT_MS);
    this.#pool = new StorePool({
      connection,
      // A fence ends these too: a process that is paused in a takeover holds locks.
      application_name: `${applicationNameOf(processId)} leases`,
      // A renewal, what the process looks for, and a takeover, at a time.
      max: 3,
      connectionTimeoutMillis: this.#timeoutMs,
      query_timeout: this.#timeoutMs,
      settings: {
        statement_timeout: String(leaseMs),
        idle_in_transaction_session_timeout: String(leaseMs + FENCE_MS),
        row_security: 'on',
        synchronous_commit: 'on',
        search_path: 'pg_catalog',
        role: ADMIN_ROLE,
      },
    });
    const name = (table: string) =>
      `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`;
    this.#processes = name('engine_processes');
    this.#leases = name('engine_leases');
    this.#status = name('engine_status');
    this.#tenants = name('tenants');
  }

  /** Adds the row of this process, without leases. */
  async join(): Promise<void> {
    await this.query(
      `insert into ${this.#processes} (process_id, name, expires_at)
       values ($1, $2, now() + $3 * interval '1 ms')
       on conflict (process_id) do update set expires_at = excluded.expires_at`,
      [
        this.#options.processId,
        `${hostname()} ${process.pid}`,
        this.#options.leaseMs,
      ],
    );
  }

  /**
   * Extends the lease time of this process. During a takeover by another process the statement
   * waits for the lock of the row.
   *
   * @returns whether this process still has its row, and thereby its leases
   */
  async renew(): Promise<boolean> {
    const rows = await this.query(
      `update ${this.#processes} set expires_at = now() + $2 * interval '1 ms'
        where process_id = $1 returning process_id`,
      [this.#options.processId, this.#options.leaseMs],
    );
    return rows.length > 0;
  }

  /** Deletes the row of this process, and its leases with it. */
  async leave(): Promise<void> {
    await this.query(`delete from ${this.#processes} where process_id = $1`, [
      this.#options.processId,
    ]);
  }

  async look(): Promise<LeaseView> {
    const [view] = await this.query<LeaseView>(
      `select p.processes, p."hasExpired", l.leases, l.own, l."ownDigest"
         from (select (count(*) filter (where expires_at > now()))::int as processes,
                      coalesce(bool_or(process_id <> $1 and expires_at <= now()), false)
                        as "hasExpired"
                 from ${this.#processes}) p,
              (select count(*)::int as leases,
                      (count(*) filter (where process_id = $1))::int as own,
                      bit_xor(hashtextextended(tenant_id::text, 0))
                        filter (where process_id = $1) as "ownDigest"
                 from ${this.#leases}) l`,
      [this.#options.processId],
    );
    return view;
  }

  /** The tenants whose leases this process has. */
  async readOwn(): Promise<string[]> {
    const rows = await this.query<{ id: string }>(
      `select tenant_id as id from ${this.#leases} where process_id = $1`,
      [this.#options.processId],
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Takes leases of tenants that no process has.
   *
   * @returns the tenants whose leases it has got
   * @throws if this process has lost its row
   */
  async claim(tenantIds: string[], max: number): Promise<string[]> {
    // Two processes that claim one tenant at once: the second waits for the first, which
    // takes one statement. Random, so that they rarely choose the same; and in one order,
    // or each could wait for the other.
    const rows = await this.query<{ id: string }>(
      `insert into ${this.#leases} (tenant_id, process_id)
       select c.tenant_id, $1
         from (select t.tenant_id from ${this.#tenants} t
                where t.tenant_id = any ($2::uuid[])
                  and not exists (select from ${
                    this.#leases
                  } l where l.tenant_id = t.tenant_id)
                order by random() limit $3) c
        order by c.tenant_id
       on conflict (tenant_id) do nothing returning tenant_id as id`,
      [this.#options.processId, tenantIds, max],
    );
    return rows.map(({ id }) => id);
  }

  /** Gives up leases of this process. */
  async release(tenantIds: string[]): Promise<void> {
    await this.query(
      `delete from ${
        this.#leases
      } where process_id = $1 and tenant_id = any ($2::uuid[])`,
      [this.#options.processId, tenantIds],
    );
  }

  /**
   * Frees the leases of a process that has expired, if there is one: runs all fences, makes the
   * items due again that the process had begun, and deletes its row.
   *
   * @returns the process, unless there was none or another process is taking it over
   * @throws the error of a fence; the leases then stay
   */
  async takeOver(fences: Fence[]): Promise<LostProcess | undefined> {
    return this.#pool.transaction(async client => {
      // FOR UPDATE until the end of the transaction, seconds at most: the process, if it is
      // alive, waits with its renewal and its claims and finds that the row is gone. Other
      // processes skip it. Should this process be paused here, its own fence, or
      // idle_in_transaction_session_timeout, ends the session and its locks.
      const { rows } = await client.query<{
        processId: string;
        name: string;
        expiresAt: Date;
      }>(
        `select process_id as "processId", name, expires_at as "expiresAt"
           from ${this.#processes}
          where expires_at <= now() and process_id <> $1
          order by expires_at limit 1 for update skip locked`,
        [this.#options.processId],
      );
      const lost = rows[0] && (await this.#describe(client, rows[0]));
      if (lost) {
        for (const fence of fences) {
          await fence(lost);
        }
        const awake = await this.#awakeOf(client, lost);
        // No session of the lost process holds a lock any more: whose tables are locked by
        // hand, for that tenant the others do not wait.
        await client.query(
          `set local role none; set local lock_timeout = ${LOCK_MS}`,
        );
        await this.#makeDue(client, awake, rows[0].expiresAt);
        await client.query(
          `set local role ${ADMIN_ROLE}; set local lock_timeout = 0`,
        );
        await client.query(
          `delete from ${this.#processes} where process_id = $1`,
          [lost.processId],
        );
      }
      return lost;
    });
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #describe(
    client: PoolClient,
    { processId, name }: { processId: string; name: string },
  ): Promise<LostProcess> {
    const { rows } = await client.query<{ id: string }>(
      `select tenant_id as id from ${this.#leases} where process_id = $1`,
      [processId],
    );
    return {
      processId,
      name,
      applicationName: applicationNameOf(processId),
      tenantIds: rows.map(({ id }) => id),
    };
  }

  /** Only tenants whose engine ran: a sleeping engine had begun nothing. */
  async #awakeOf(
    client: PoolClient,
    { tenantIds }: LostProcess,
  ): Promise<string[]> {
    const { rows } = await client.query<{ id: string }>(
      `select t.id from unnest($1::uuid[]) t (id)
         left join ${this.#status} s on s.tenant_id = t.id
        where s.wake_at is null`,
      [tenantIds],
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Makes the items due at once that the lost process had begun. An engine moves the time of an
   * item before it processes it, so the item would otherwise wait for half an hour or more.
   */
  async #makeDue(
    client: PoolClient,
    tenantIds: string[],
    expiresAt: Date,
  ): Promise<void> {
    const { intervalMsOf, leaseMs, logger } = this.#options;
    // The time of the last renewal, minus the longest processing of an item.
    const since = expiresAt.getTime() - leaseMs - PROCESSING_MS;
    for (const tenantId of tenantIds) {
      const intervalMs = await intervalMsOf(tenantId);
      await client.query('savepoint tenant');
      try {
        await makeItemsDue(client, engineSchemaOf(tenantId), {
          after:
            intervalMs === undefined ? undefined : new Date(since + intervalMs),
          // Before the connection is given up, and with it the takeover.
          withinMs: this.#timeoutMs / 2,
        });
      } catch (error) {
        await client.query('rollback to savepoint tenant');
        // Tenants without tables are skipped.
        if (!hasCode(error, UNDEFINED_TABLE)) {
          logger.warn(
            `Of the tenant ${tenantId}, what a lost process had begun waits for its next interval: ${error}`,
          );
        }
      }
    }
  }

  /** One statement as `portal_admin`, by a session that a fence ends. */
  async query<TRow extends object>(
    sql: string,
    values: unknown[],
  ): Promise<TRow[]> {
    return this.#pool.query(sql, values);
  }
}

/**
 * Items that were never processed, those whose time was moved after the given one, and entities
 * that wait to be stitched.
 */
async function makeItemsDue(
  client: PoolClient,
  schema: string,
  { after, withinMs }: { after: Date | undefined; withinMs: number },
): Promise<void> {
  // As in the engine's own sessions, for the triggers of the adoption.
  await client.query(
    `select set_config('search_path', $1, true), set_config('statement_timeout', $2, true)`,
    [escapeIdentifier(schema), String(Math.round(withinMs))],
  );
  // Locks of rows, until the end of the takeover. No engine works with them; a refresh by a
  // user waits.
  await client.query(
    `update refresh_state set next_update_at = now() + random() * $2 * interval '1 ms'
      where next_update_at > now()
        and (coalesce(result_hash, '') = '' or next_update_at > $1)`,
    [after ?? 'infinity', SPREAD_MS],
  );
  await client.query(
    `update stitch_queue set next_stitch_at = now() where next_stitch_at > now()`,
  );
}

/**
 * Ends all sessions of a lost process on the server that a connection leads to, in each of its
 * databases.
 *
 * Background work gets a session only after a check that the lease is held, which is made once
 * the session is established ({@link BackgroundWork.check}). A session of a process that has
 * expired is therefore of one of two kinds. Either it was given to background work before the
 * process expired: then the server lists it by its name, and it ends here; a commit under way
 * comes to its end before, or not at all, since a session is listed until its transaction is
 * over. Or it was not: then it may be under construction, idle or at the request of a user, may
 * even begin after this, and background work never gets it, because the check of a process that
 * was paused for so long fails.
 */
export async function endSessions(
  connection: ClientConfig,
  { applicationName }: Pick<LostProcess, 'applicationName'>,
): Promise<void> {
  await withSession(connection, async session => {
    const deadline = performance.now() + FENCE_MS;
    for (;;) {
      // Outside of a transaction, in which the view would show what it showed first.
      const rows = await session.query<{ pid: number }>(
        `select pid, pg_catalog.pg_terminate_backend(pid)
           from pg_catalog.pg_stat_activity
          where pg_catalog.starts_with(application_name, $1)`,
        [applicationName],
      );
      if (rows.length === 0) {
        return;
      }
      if (performance.now() > deadline) {
        throw new Error(
          `Sessions of a lost process do not end: ${rows
            .map(({ pid }) => pid)
            .join(', ')}`,
        );
      }
      await delay(20);
    }
  });
}

/**
 * Frees the scheduled tasks of tenants that a lost process has claimed, as Backstage's janitor
 * does when their time is over. It comes after {@link endSessions}, and a run that goes on in
 * a process that was paused notices that its claim is gone.
 *
 * @param schema - of the plugin in whose scheduler the tasks are
 */
export async function freeTasks(
  connection: ClientConfig,
  schema: string,
  { tenantIds }: Pick<LostProcess, 'tenantIds'>,
): Promise<void> {
  const table = `${escapeIdentifier(schema)}.backstage_backend_tasks__tasks`;
  await withSession(connection, async session => {
    const [{ exists }] = await session.query<{ exists: boolean }>(
      'select to_regclass($1) is not null as exists',
      [table],
    );
    if (exists) {
      // next_run_start_at is the time of the run that was lost: the task is due.
      await session.query(
        `update ${table}
            set current_run_ticket = null, current_run_started_at = null,
                current_run_expires_at = null, last_run_ended_at = now(),
                last_run_error_json = $2
          where current_run_ticket is not null and id like any ($1)`,
        [
          tenantIds.map(tenantId => `tenant:${tenantId}:%`),
          JSON.stringify(
            serializeError(new Error('The process of the task was lost')),
          ),
        ],
      );
    }
  });
}

function withSession(
  connection: ClientConfig,
  work: (session: TablesSession) => Promise<void>,
): Promise<void> {
  return TablesSession.use(
    {
      ...connection,
      password: connection.password,
      connectionTimeoutMillis: FENCE_MS,
      query_timeout: FENCE_MS,
    },
    work,
  );
}

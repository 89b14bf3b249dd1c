import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import {
  DEFAULT_TENANT_ID,
  type TenantEngineReport,
  type TenantEngineStatus,
} from 'backstage-plugin-catalog-tenancy-node';
import type { SourceError } from 'backstage-plugin-tenants-common';
import { type ClientConfig, escapeIdentifier, escapeLiteral } from 'pg';
import { StorePool } from '../leases/StorePool';
import { hasCode, LOCKED_TABLES } from '../tables/TablesSession';

/** The status of a tenant's engine in the process that does its background work. */
export interface EngineNote {
  tenantId: string;
  state: TenantEngineStatus['state'];
  reason?: string;
  /** Of the last failure that this process has seen. */
  lastError?: string;
  lastErrorAt?: Date;
  caughtUpAt?: Date;
}

/** How many copies of a share a tenant has. */
export interface CopiesNote {
  shareId: string;
  copies: number;
  /** The entities that the tenant has itself, or from another share. */
  conflicts: number;
}

/** Numbers of the whole deployment. */
export interface DeploymentFacts {
  /** Live processes that take leases. */
  processes: number;
  /** Tenants with an engine that is not paused, of which no live process has the lease. */
  unassigned: number;
  /** Rows of all tenants that could not be carried. */
  faults: number;
  /** Client sessions of the server, and how many it has room for. */
  sessions: number;
  maxSessions: number;
}

const ADMIN_ROLE = 'portal_admin';

const QUERY_CANCELED = '57014';

/** A person or a probe waits for a report, so it fails early. */
const TIMEOUT_MS = 10_000;

const SOURCE_ERRORS = 20;

/**
 * The most engines that one statement reads: it locks each of their tables and indexes, for which
 * the server has room for some thousand.
 */
const ENGINES_PER_STATEMENT = 50;

/** Errors are counted by reading all rows of each engine, for a list that must not wait for it. */
const COUNT_TIMEOUT_MS = 2_000;

/** Only entities that a source still has: others are deleted within a minute. */
const fromErrorsOf = (schema: string) =>
  `from ${schema}.refresh_state s
  where errors like '[{%' and exists (
        select from ${schema}.refresh_state_references r
         where r.target_entity_ref = s.entity_ref)`;

interface StoreOptions {
  /** Of the catalog plugin's own database user, which may act as `portal_admin`. */
  connection: ClientConfig;
  /** The schema of the tenants' tables. */
  schema: string;
  /** By whose leases it writes; without one it only reads. */
  processId?: string;
}

interface NoteRow {
  state: TenantEngineStatus['state'] | null;
  reason: string | null;
  lastError: string | null;
  lastErrorAt: Date | null;
  caughtUpAt: Date | null;
  /** Whether the process that has the lease wrote it; null without a live lease. */
  isOfHolder: boolean | null;
  /** Whether the engine sleeps until it is due, whichever process has the lease. */
  isAsleep: boolean;
  /** Whether the engine sleeps and is not due yet. */
  sleepsOn: boolean;
  process: string | null;
  leaseExpiresAt: Date | null;
  faults: number;
}

/**
 * The status of engines in the database: `engine_status`, written by the process with the lease
 * and read by all, and the due items in the tables of an engine.
 *
 * It has its own sessions: it neither waits for those of the engines nor takes one from a
 * request, and its statements wake no idle engine. Two of them read the tables of engines, which
 * takes seconds where a tenant has many entities: requests of other tenants wait for the others.
 */
export class EngineStatusStore {
  readonly #pool: StorePool;
  readonly #tables: StorePool;
  readonly #name: (table: string) => string;
  readonly #processId?: string;
  readonly #reports = new Map<string, Promise<TenantEngineReport>>();

  /** It connects at the first call. */
  constructor({ connection, processId, schema }: StoreOptions) {
    this.#processId = processId;
    this.#name = table => `${escapeIdentifier(schema)}.${table}`;
    const open = (settings: Record<string, string>) =>
      new StorePool({
        connection,
        application_name: 'catalog tenant engines: status',
        max: 2,
        // A session that has looked at many schemas has grown.
        idleTimeoutMillis: 5_000,
        connectionTimeoutMillis: TIMEOUT_MS,
        query_timeout: TIMEOUT_MS,
        settings: { statement_timeout: String(TIMEOUT_MS), ...settings },
      });
    this.#pool = open({ role: ADMIN_ROLE });
    this.#tables = open({});
  }

  /** The report of a tenant's engine in all processes; the same for all that ask at a time. */
  report(tenantId: string): Promise<TenantEngineReport> {
    const underWay = this.#reports.get(tenantId);
    if (underWay) {
      return underWay;
    }
    const report = this.#report(tenantId).finally(() =>
      this.#reports.delete(tenantId),
    );
    this.#reports.set(tenantId, report);
    return report;
  }

  async #report(tenantId: string): Promise<TenantEngineReport> {
    const due = await this.readDue([tenantId]);
    return {
      ...(await this.reports([tenantId], due)).get(tenantId)!,
      source_error_count:
        (await this.countSourceErrors([tenantId])).get(tenantId) ?? null,
      source_errors: await this.#readSourceErrors(tenantId),
    };
  }

  /**
   * The same of many, by the ids of the tenants, without reading the tables of each.
   *
   * @param due - from {@link EngineStatusStore.readDue}, for those whose lag is reported
   */
  async reports(
    tenantIds: string[],
    due: ReadonlyMap<string, Date | null> = new Map(),
  ): Promise<Map<string, TenantEngineReport>> {
    const rows = await this.#pool.query<
      NoteRow & { now: Date; tenantId: string }
    >(
      `select t.tenant_id as "tenantId", now() as now, s.state, s.reason, s.last_error as "lastError",
              s.last_error_at as "lastErrorAt", s.caught_up_at as "caughtUpAt",
              case when p.process_id is not null
                   then s.process_id is not distinct from p.process_id end as "isOfHolder",
              s.wake_at is not null as "isAsleep",
              coalesce(s.wake_at > now(), false) as "sleepsOn",
              p.name as process, p.expires_at as "leaseExpiresAt",
              (select count(*)::int from ${this.#name('adoption_faults')} f
                where f.tenant_id = t.tenant_id) as faults
         from unnest($1::uuid[]) t (tenant_id)
         left join ${this.#name('engine_status')} s using (tenant_id)
         left join ${this.#name('engine_leases')} l using (tenant_id)
         left join ${this.#name('engine_processes')} p
           on p.process_id = l.process_id and p.expires_at > now()`,
      [tenantIds],
    );
    return new Map(
      rows.map(row => [row.tenantId, toReport(row, due.get(row.tenantId))]),
    );
  }

  /**
   * Since when the oldest item of each engine is due: an entity that is to be processed or
   * stitched.
   *
   * @returns nothing for an engine without tables, and `null` where nothing is due
   */
  async readDue(tenantIds: string[]): Promise<Map<string, Date | null>> {
    const found = new Map<string, Date | null>();
    // Two look-ups in an index for each.
    const statements = await this.#statementsFor(
      tenantIds,
      (schema, tenantId) => {
        const first = (table: string, column: string) =>
          `(select min(${column}) from ${schema}.${table} where ${column} <= now())`;
        return `select ${tenantId} as "tenantId", least(${first(
          'refresh_state',
          'next_update_at',
        )}, ${first('stitch_queue', 'next_stitch_at')}) as due`;
      },
    );
    for (const statement of statements) {
      const rows = await this.#tables.query<{
        tenantId: string;
        due: Date | null;
      }>(statement);
      rows.forEach(({ tenantId, due }) => found.set(tenantId, due));
    }
    return found;
  }

  /**
   * The schemas of engines that have their tables, with their tenants, small engines first.
   * Without those that others have locked, such as for an upgrade: what is said of other engines
   * would wait for that.
   */
  async #schemasOf(tenantIds: string[]): Promise<Map<string, string>> {
    const bySchema = new Map(tenantIds.map(id => [engineSchemaOf(id), id]));
    const rows = await this.#tables.query<{ schema: string }>(
      `select n.nspname as schema
         from pg_catalog.pg_namespace n
         join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = 'refresh_state'
         join pg_catalog.pg_class s on s.relnamespace = n.oid and s.relname = 'stitch_queue'
        where n.nspname = any ($1)
          and n.oid not in (select relnamespace from pg_catalog.pg_class
                             where oid in ${LOCKED_TABLES})
        order by c.relpages`,
      [[...bySchema.keys()]],
    );
    return new Map(rows.map(({ schema }) => [schema, bySchema.get(schema)!]));
  }

  /**
   * The number of locations and entities with errors, by tenant; `null` for those that are not
   * counted in time.
   */
  async countSourceErrors(
    tenantIds: string[],
  ): Promise<Map<string, number | null>> {
    const found = new Map<string, number | null>();
    const until = performance.now() + COUNT_TIMEOUT_MS;
    const statements = await this.#statementsFor(
      tenantIds,
      (schema, tenantId) =>
        `select ${tenantId} as "tenantId", count(*)::int as errors ${fromErrorsOf(
          schema,
        )}`,
      id => found.set(id, null),
    );
    try {
      for (const statement of statements) {
        const left = Math.ceil(until - performance.now());
        if (left <= 0) {
          break;
        }
        const { rows } = await this.#tables.transaction(async client => {
          await client.query(`set local statement_timeout = ${left}`);
          return client.query<{ tenantId: string; errors: number }>(statement);
        });
        rows.forEach(({ tenantId, errors }) => found.set(tenantId, errors));
      }
    } catch (error) {
      if (!hasCode(error, QUERY_CANCELED)) {
        throw error;
      }
    }
    return found;
  }

  /** The locations of an engine that could not be read, and the entities that are not valid. */
  async #readSourceErrors(tenantId: string): Promise<SourceError[]> {
    const [schema] = (await this.#schemasOf([tenantId])).keys();
    if (schema === undefined) {
      return [];
    }
    // The catalog serves no entity that was never valid, and so no error of it. What a tenant
    // writes may have what PostgreSQL can't decode: NUL characters and lone surrogates.
    const readable = (column: string) =>
      `regexp_replace(${column}, '\\\\u(0000|d[89a-f][0-9a-f]{2})', '\\\\ufffd', 'gi')::json`;
    return this.#tables.query<SourceError>(
      `select left(coalesce(
                substring(entity #>> '{metadata,annotations,backstage.io/managed-by-origin-location}' from '^[a-z]+:(.+)'),
                entity #>> '{spec,target}', entity_ref), 2000) as location,
              entity_ref, next_try_at,
              (select left(string_agg(regexp_replace(e ->> 'message',
                        '^Processor Tenant[A-Za-z]+ .*; caused by InputError: ', ''), ', '), 2000)
                 from json_array_elements(errors) e) as message
         from (select entity_ref,
                      to_char(next_update_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as next_try_at,
                      ${readable('unprocessed_entity')} as entity,
                      ${readable('errors')} as errors
                 ${fromErrorsOf(escapeIdentifier(schema))}
                order by entity_ref like 'location:%' desc, entity_ref
                limit ${SOURCE_ERRORS}) f`,
    );
  }

  /**
   * A few statements that together have a row of each engine.
   *
   * @param select - makes the part for one, of its schema and its tenant, both quoted
   * @param include - called with the id of each tenant that has a row
   */
  async #statementsFor(
    tenantIds: string[],
    select: (schema: string, tenantId: string) => string,
    include: (tenantId: string) => void = () => undefined,
  ): Promise<string[]> {
    const schemas = [...(await this.#schemasOf(tenantIds))];
    schemas.forEach(([, tenantId]) => include(tenantId));
    const parts = schemas.map(([schema, tenantId]) =>
      select(escapeIdentifier(schema), escapeLiteral(tenantId)),
    );
    const statements: string[] = [];
    while (parts.length > 0) {
      statements.push(
        parts.splice(0, ENGINES_PER_STATEMENT).join('\nunion all\n'),
      );
    }
    return statements;
  }

  async readDeployment(): Promise<DeploymentFacts> {
    const [facts] = await this.#pool.query<DeploymentFacts>(
      `select (select count(*)::int from ${this.#name('engine_processes')}
                where expires_at > now()) as processes,
              (select count(*)::int
                 from ${this.#name('tenants')} t
                 left join ${this.#name('tenant_engines')} e using (tenant_id)
                where t.tenant_id <> '${DEFAULT_TENANT_ID}'
                  and e.paused_at is null and t.deleted_at is null
                  and not exists (
                    select from ${this.#name('engine_leases')} l
                      join ${this.#name(
                        'engine_processes',
                      )} p using (process_id)
                     where l.tenant_id = t.tenant_id and p.expires_at > now()))
                as unassigned,
              (select count(*)::int from ${this.#name('adoption_faults')})
                as faults,
              (select count(*)::int from pg_catalog.pg_stat_activity
                -- Other roles' columns are hidden, these are not.
                where usesysid is not null and datid is not null) as sessions,
              pg_catalog.current_setting('max_connections')::int as "maxSessions"`,
    );
    return facts;
  }

  /**
   * Writes the status that this process knows, of the tenants whose leases it has in the database: it
   * may have been paused since the caller held them. Equal rows stay untouched.
   */
  async write(notes: EngineNote[]): Promise<void> {
    const rows = notes.map(note => ({
      ...note,
      reason: storable(note.reason),
      lastError: storable(note.lastError),
    }));
    // Locks of rows, for this one statement: of engine_status, of the leases (KEY SHARE), so that a
    // process that takes one sees this write, and of tenants (KEY SHARE, for the foreign key), for
    // which only the removal of a tenant for good waits. In the order of the keys, so that two
    // writers can't wait for each other.
    await this.#pool.query(
      `insert into ${this.#name('engine_status')} as s
         (tenant_id, state, reason, last_error, last_error_at, caught_up_at, process_id)
       select l.tenant_id, r.state, r.reason, r."lastError", r."lastErrorAt",
              r."caughtUpAt", l.process_id
         from jsonb_to_recordset($1::jsonb) as r (
                "tenantId" uuid, state text, reason text, "lastError" text,
                "lastErrorAt" timestamptz, "caughtUpAt" timestamptz)
         join ${this.#name('engine_leases')} l on l.tenant_id = r."tenantId"
        where l.process_id = $2
        order by l.tenant_id for key share of l
       on conflict (tenant_id) do update
          set state = excluded.state, reason = excluded.reason,
              last_error = coalesce(excluded.last_error, s.last_error),
              last_error_at = coalesce(excluded.last_error_at, s.last_error_at),
              caught_up_at = greatest(excluded.caught_up_at, s.caught_up_at),
              process_id = excluded.process_id, updated_at = now()
        where (s.state, s.reason, s.process_id)
                is distinct from (excluded.state, excluded.reason, excluded.process_id)
           or excluded.last_error_at > coalesce(s.last_error_at, '-infinity')
           or excluded.caught_up_at > coalesce(s.caught_up_at, '-infinity')`,
      [JSON.stringify(rows), this.#processId],
    );
  }

  /** Makes a sleeping engine due, so the process with its lease starts it. */
  async makeDue(tenantId: string): Promise<void> {
    // Locks: this row, for this one statement.
    await this.#pool.query(
      `update ${this.#name('engine_status')} set wake_at = now()
        where tenant_id = $1 and wake_at > now()`,
      [tenantId],
    );
  }

  /** When each of the engines that sleep had last nothing left to do, by tenant. */
  async readAsleep(): Promise<Map<string, Date>> {
    const rows = await this.#pool.query<{ tenantId: string; at: Date }>(
      `select tenant_id as "tenantId", caught_up_at as at
         from ${this.#name('engine_status')}
        where wake_at is not null and caught_up_at is not null`,
    );
    return new Map(rows.map(({ tenantId, at }) => [tenantId, at]));
  }

  /** Of which shares tenants may have copies, by the ids of the tenants. */
  async readCopies(): Promise<Map<string, string[]>> {
    const rows = await this.#pool.query<{ tenantId: string; shares: string[] }>(
      `select tenant_id as "tenantId", array_agg(share_id::text) as shares
         from ${this.#name('tenant_share_copies')} group by tenant_id`,
    );
    return new Map(rows.map(({ tenantId, shares }) => [tenantId, shares]));
  }

  /**
   * Writes how many copies a tenant has, of these shares alone, if this process has its lease in the
   * database.
   *
   * @param options - `keep`: further shares of which it may have copies, whose rows stay
   */
  async writeCopies(
    tenantId: string,
    notes: CopiesNote[],
    { keep = [] }: { keep?: string[] } = {},
  ): Promise<void> {
    // Locks of rows, for this one statement: of tenant_share_copies, of the lease (KEY SHARE), and of
    // tenants (KEY SHARE, for the foreign key).
    await this.#pool.query(
      `with held as (
         select from ${this.#name('engine_leases')}
          where tenant_id = $1 and process_id = $4 for key share),
       gone as (
         delete from ${this.#name('tenant_share_copies')}
          where tenant_id = $1 and share_id <> all ($2::uuid[]) and exists (select from held))
       insert into ${this.#name('tenant_share_copies')} as c
         (tenant_id, share_id, copies, conflicts)
       select $1, r."shareId", r.copies, r.conflicts
         from jsonb_to_recordset($3::jsonb) as r ("shareId" uuid, copies int, conflicts int)
        where exists (select from held)
       on conflict (tenant_id, share_id) do update
          set copies = excluded.copies, conflicts = excluded.conflicts
        where (c.copies, c.conflicts) is distinct from (excluded.copies, excluded.conflicts)`,
      [
        tenantId,
        [...notes.map(({ shareId }) => shareId), ...keep],
        JSON.stringify(notes),
        this.#processId,
      ],
    );
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.close(), this.#tables.close()]);
  }
}

function toReport(
  row: NoteRow & { now: Date },
  due: Date | null | undefined,
): TenantEngineReport {
  const oldestDueAt = due && row.sleepsOn ? null : due;
  const { isOfHolder, now, state, reason } = row;
  return {
    state: stateOf(row),
    reason: isOfHolder && state === 'failed' ? reason : null,
    last_error: row.lastError,
    last_error_at: row.lastErrorAt?.toISOString() ?? null,
    last_full_run_at: row.caughtUpAt?.toISOString() ?? null,
    oldest_due_at: oldestDueAt?.toISOString() ?? null,
    lag_seconds: lagOf(oldestDueAt, now),
    process: row.process,
    lease_expires_at: row.leaseExpiresAt?.toISOString() ?? null,
    faults: row.faults,
  };
}

/** Null for an engine without tables. */
function lagOf(oldestDueAt: Date | null | undefined, now: Date): number | null {
  if (oldestDueAt === undefined) {
    return null;
  }
  const ms = oldestDueAt ? now.getTime() - oldestDueAt.getTime() : 0;
  return Math.max(0, Math.round(ms / 1000));
}

function stateOf(row: NoteRow): TenantEngineReport['state'] {
  const { isAsleep, isOfHolder, state } = row;
  if (isOfHolder === null) {
    return 'unassigned';
  }
  if (isAsleep) {
    return 'running';
  }
  // The process that has the lease may have written nothing yet.
  return (isOfHolder && state) || 'starting';
}

/** As PostgreSQL can store it. */
function storable(text: string | undefined): string | undefined {
  return text?.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\ufffd');
}

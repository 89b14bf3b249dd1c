import type { LoggerService } from '@backstage/backend-plugin-api';
import type {
  ListTenantUsage,
  TenantUsageDay,
} from 'backstage-plugin-tenants-common';
import { isStorable } from '../catalog/conditions';
import type { TenantDatabase } from '../database/TenantDatabase';
import { DatabaseUnavailableError, isAboutStatement } from '../pool/errors';
import type { TenancyPool } from '../pool/TenancyPool';
import { tenantIdOf } from '../tenants/activeTenant';
import type { ActiveTenant } from '../tenants/TenantDirectory';
import { dayOf, parseListTenantUsage } from './input';
import type { TenantUsageStore, TenantUsageTotals } from './TenantUsageStore';

const FLUSH_MS = 60_000;
/** The most people counted for a tenant and day between two flushes; more are ignored. */
const MOST_PEOPLE = 10_000;
/** The index takes no longer ones, and one would keep all counts from being stored. */
const LONGEST_PERSON = 512;

/** The counts of a tenant and day that are not stored yet. */
interface Counted extends TenantUsageTotals {
  tenantId: string;
  day: string;
  people: Set<string>;
}

type Row = Omit<TenantUsageDay, 'requests' | 'database_ms' | 'bytes'> &
  Record<'requests' | 'database_ms' | 'bytes', string>;

/**
 * {@link TenantUsageStore} on PostgreSQL. A process counts in memory and adds the counts to the
 * rows of the day once a minute, as `portal_admin`. Reads are under row-level security.
 *
 * A write locks the tenants' rows of the day until the commit; all processes lock in the same
 * order, so they cannot deadlock.
 */
export class PostgresTenantUsageStore implements TenantUsageStore {
  readonly #database: TenantDatabase;
  readonly #logger: LoggerService;
  readonly #pool: TenancyPool;
  readonly #slugs = new Map<string, string>();
  readonly #totals = new Map<string, TenantUsageTotals>();
  #counted = new Map<string, Counted>();
  /** What could not be stored. */
  #batch: Counted[] = [];
  #flushed = Promise.resolve();
  #timer?: NodeJS.Timeout;

  constructor(options: {
    database: TenantDatabase;
    pool: TenancyPool;
    logger: LoggerService;
  }) {
    this.#database = options.database;
    this.#logger = options.logger;
    this.#pool = options.pool;
  }

  /** Starts counting, and stores the counts once a minute. */
  start(): void {
    this.#pool.onWork((tenantId, ms) => this.addWork(tenantId, ms));
    this.#timer = setInterval(() => this.#flush(), FLUSH_MS).unref();
  }

  /** Stores the remaining counts. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#flush();
  }

  count({ tenantId, tenantSlug }: ActiveTenant, person?: string): void {
    this.#slugs.set(tenantId, tenantSlug);
    const { people } = this.#add(tenantId, { requests: 1, databaseMs: 0 });
    if (
      person !== undefined &&
      person.length <= LONGEST_PERSON &&
      isStorable(person) &&
      people.size < MOST_PEOPLE
    ) {
      people.add(person);
    }
  }

  addWork(tenantId: string, ms: number): void {
    this.#add(tenantId, { requests: 0, databaseMs: ms });
  }

  *totals(): Iterable<[string, TenantUsageTotals]> {
    for (const [tenantId, totals] of this.#totals) {
      const slug = this.#slugs.get(tenantId);
      if (slug !== undefined) {
        yield [slug, totals];
      }
    }
  }

  async list(
    tenantSlug: string,
    query: ListTenantUsage = {},
  ): Promise<TenantUsageDay[]> {
    const { from, to } = parseListTenantUsage(query);
    const tenantId = await tenantIdOf(this.#pool, tenantSlug);
    const rows = await this.#database.query<Row>(tenantId, ({ knex }) =>
      knex('tenant_usage')
        .where('tenant_id', tenantId)
        .whereBetween('day', [from, to])
        .select(
          knex.raw(`to_char(day, 'YYYY-MM-DD') as day`),
          ...['requests', 'database_ms', 'people', 'entities', 'bytes'],
        )
        .orderBy('tenant_usage.day'),
    );
    return rows.map(row => ({
      ...row,
      requests: Number(row.requests),
      database_ms: Number(row.database_ms),
      bytes: Number(row.bytes),
    }));
  }

  async countEntities(signal?: AbortSignal): Promise<void> {
    const tenants = await this.#pool.query<{ tenant_id: string }>(knex =>
      knex('tenants').select('tenant_id').whereNull('deleted_at'),
    );
    // One query for each tenant: a query for all would lock the partitions of all tenants at
    // once.
    for (const { tenant_id } of tenants) {
      if (signal?.aborted) {
        return;
      }
      await this.#countEntitiesOf(tenant_id);
    }
    await this.#pool.query(
      knex =>
        knex.raw(
          `delete from tenant_usage_people where day < (now() at time zone 'utc')::date - 1`,
        ),
      { asAdmin: true },
    );
  }

  /** A tenant that is purged meanwhile, or takes too long, keeps the number of before. */
  async #countEntitiesOf(tenantId: string): Promise<void> {
    try {
      await this.#pool.query(
        knex =>
          knex.raw(
            `insert into tenant_usage (tenant_id, day, entities, bytes)
             select ?, (now() at time zone 'utc')::date,
                    coalesce(jsonb_object_agg(entity_kind, number), '{}'),
                    coalesce(sum(bytes), 0)
               from (select entity_kind, count(*) as number,
                            sum(pg_column_size(final_entity)) as bytes
                       from entities where tenant_id = ? and deleted_at is null
                      group by entity_kind) k
             on conflict (tenant_id, day) do update
               set entities = excluded.entities, bytes = excluded.bytes`,
            [tenantId, tenantId],
          ),
        { asAdmin: true },
      );
    } catch (error) {
      if (!isAboutStatement(error)) {
        throw error;
      }
      this.#logger.warn(
        `The entities of the tenant ${tenantId} could not be counted: ${error}`,
      );
    }
  }

  #add(tenantId: string, { requests, databaseMs }: TenantUsageTotals): Counted {
    const day = dayOf(Date.now());
    const key = `${tenantId} ${day}`;
    let counted = this.#counted.get(key);
    if (!counted) {
      counted = {
        ...{ tenantId, day, requests: 0, databaseMs: 0 },
        people: new Set(),
      };
      this.#counted.set(key, counted);
    }
    const totals = this.#totals.get(tenantId) ?? { requests: 0, databaseMs: 0 };
    this.#totals.set(tenantId, totals);
    for (const each of [counted, totals]) {
      each.requests += requests;
      each.databaseMs += databaseMs;
    }
    return counted;
  }

  /** One after the other. Never rejects. */
  #flush(): Promise<void> {
    this.#flushed = this.#flushed.then(async () => {
      try {
        await this.#storeBatch();
        this.#batch = [...this.#counted.values()];
        this.#counted = new Map();
        await this.#storeBatch();
      } catch (error) {
        if (error instanceof DatabaseUnavailableError && error.outcomeUnknown) {
          // It may be stored, and must not count twice.
          this.#batch = [];
        }
        this.#logger.warn(
          `The usage of tenants could not be stored at the moment: ${error}`,
        );
      }
    });
    return this.#flushed;
  }

  async #storeBatch(): Promise<void> {
    if (this.#batch.length > 0) {
      await this.#store(this.#batch);
    }
    this.#batch = [];
  }

  async #store(counted: Counted[]): Promise<void> {
    const days = JSON.stringify(
      counted.map(({ people, databaseMs, ...each }) => ({
        ...each,
        databaseMs: Math.round(databaseMs),
        people: [...people],
      })),
    );
    await this.#pool.transaction({ asAdmin: true }, async ({ knex, query }) => {
      await query(
        knex.raw(
          `insert into tenant_usage_people (tenant_id, day, person)
           select t.tenant_id, e.day, p.person
             from jsonb_to_recordset(?::jsonb) as e ("tenantId" uuid, day date, people jsonb)
             join tenants t on t.tenant_id = e."tenantId"
            cross join jsonb_array_elements_text(e.people) as p (person)
            order by 1, 2, 3
           on conflict do nothing`,
          [days],
        ),
      );
      await query(
        knex.raw(
          `insert into tenant_usage as u (tenant_id, day, requests, database_ms, people)
           select t.tenant_id, e.day, e.requests, e."databaseMs",
                  (select count(*) from tenant_usage_people p
                    where p.tenant_id = t.tenant_id and p.day = e.day)
             from jsonb_to_recordset(?::jsonb)
               as e ("tenantId" uuid, day date, requests bigint, "databaseMs" bigint)
             join tenants t on t.tenant_id = e."tenantId"
            order by 1, 2
           on conflict (tenant_id, day) do update
             set requests = u.requests + excluded.requests,
                 database_ms = u.database_ms + excluded.database_ms,
                 people = greatest(u.people, excluded.people)`,
          [days],
        ),
      );
    });
  }
}

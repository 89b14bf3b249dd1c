import type { LoggerService } from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import { highestRole } from 'backstage-plugin-tenants-common';
import { LRUCache } from 'lru-cache';
import { listEngines } from '../engines/records';
import type {
  TenantEngineChanges,
  TenantEngineRecord,
} from '../engines/TenantEngineRecord';
import { normalizePrincipal } from '../members/principals';
import type { TenantMembers, TenantRole } from '../members/TenantMembers';
import type { TenancyPool } from '../pool/TenancyPool';
import type { TenantLimits } from '../pool/TenantLimits';
import { Coalescer } from '../work/Coalescer';
import {
  ChangeListener,
  type ChangeSubscriber,
  notifyStatement,
  type RegistryChange,
} from './ChangeListener';
import { readTenantLimits } from './limits';
import { isTenantSlug } from './Tenant';
import type { ActiveTenant, TenantDirectory } from './TenantDirectory';

/**
 * Intervals and deadlines of a snapshot of the registry.
 */
export interface RegistryTiming {
  /**
   * How long a result is cached: 5 seconds by default. A change without a notification, such as
   * one by hand, stays unseen for at most this time.
   */
  ttlMs: number;
  /** The interval of checks of the listening connection: 10 seconds by default. */
  heartbeatMs: number;
  /** The time limit of such a check: 2 seconds by default. */
  answerMs: number;
  /** The pauses before reconnecting: 0.1 to 60 seconds by default. */
  reconnectMs: { shortest: number; longest: number };
  /**
   * The interval of polls (reading limits, calling listeners) for changes by hand: 60 seconds
   * by default.
   */
  pollMs: number;
  /** The same while notifications do not arrive: 5 seconds by default. */
  pollWithoutListeningMs: number;
}

const TIMING: RegistryTiming = {
  ttlMs: 5_000,
  heartbeatMs: 10_000,
  answerMs: 2_000,
  reconnectMs: { shortest: 100, longest: 60_000 },
  pollMs: 60_000,
  pollWithoutListeningMs: 5_000,
};

/**
 * Options of {@link RegistrySnapshot}.
 */
export interface RegistrySnapshotOptions {
  /**
   * Runs look-ups. The snapshot listens on one additional connection with the same settings,
   * outside of the pool.
   */
  pool: Pick<TenancyPool, 'connection' | 'query' | 'schema'>;
  /** Logs when notifications of changes stop, and when they arrive again. */
  logger: LoggerService;
  /** Overrides defaults. */
  timing?: Partial<RegistryTiming>;
}

// The most cached results, of recent callers and tenants.
const MOST_ANSWERS = 50_000;

/**
 * Caches results of look-ups for some seconds while notifications arrive. Concurrent equal
 * look-ups share one query.
 */
class CachedAnswers {
  readonly #answers: LRUCache<string, object>;
  readonly #asked = new Coalescer();
  readonly #isListening: () => boolean;
  // Increases with each change: a result from before a change must not be cached, or shared.
  #generation = 0;

  constructor(
    options: Pick<RegistryTiming, 'ttlMs'> & { isListening: () => boolean },
  ) {
    this.#answers = new LRUCache({ max: MOST_ANSWERS, ttl: options.ttlMs });
    this.#isListening = options.isListening;
  }

  /** Looks up a key. Undefined results are not cached. */
  async find<T extends object>(
    question: string,
    ask: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const known = () => this.#answers.get(question) as T | undefined;
    const generation = this.#generation;
    return (
      known() ??
      this.#asked.ask('all', [generation, question], async () => {
        const found = known() ?? (await ask());
        if (found && this.#isListening() && generation === this.#generation) {
          this.#answers.set(question, found);
        }
        return found;
      })
    );
  }

  /** Drops all results, including those of running queries for later callers. */
  forget(): void {
    this.#generation += 1;
    this.#answers.clear();
  }
}

/**
 * A process's view of the registry: tenants, members, limits and engines.
 *
 * Listens for changes on a separate connection from the first use on. While notifications do
 * not arrive, as behind a transaction pooler, it caches nothing and each look-up queries the
 * database.
 */
export class RegistrySnapshot
  implements TenantDirectory, TenantMembers, TenantEngineChanges
{
  readonly #pool: RegistrySnapshotOptions['pool'];
  readonly #logger: LoggerService;
  readonly #timing: RegistryTiming;
  readonly #listener: ChangeListener;
  readonly #answers: CachedAnswers;
  readonly #lists = new Coalescer();
  readonly #listeners = new Set<(change?: RegistryChange) => void>();
  readonly #workListeners = new Set<(tenantId: string) => void>();
  #limits?: TenantLimits;
  #areLimitsStale = false;
  #readingLimits?: Promise<void>;
  #hasLimitsFailed = false;
  #timer?: NodeJS.Timeout;
  #isClosed = false;

  /** Connects on first use. */
  constructor({ pool, logger, timing }: RegistrySnapshotOptions) {
    this.#pool = pool;
    this.#logger = logger;
    this.#timing = { ...TIMING, ...timing };
    this.#listener = new ChangeListener({ ...this.#timing, pool, logger });
    this.#answers = new CachedAnswers({
      ...this.#timing,
      isListening: () => this.#listener.isListening,
    });
    this.#listener.subscribe({
      onChange: change => this.#onRegistryChange(change),
      // Also when listening starts: earlier notifications may have been missed.
      onListeningChange: () => {
        this.forget();
        this.changed();
      },
    });
  }

  get isListening(): boolean {
    return this.#listener.isListening;
  }

  async findActive(tenantSlug: string): Promise<ActiveTenant | undefined> {
    // Only existing slugs are cached: clients can send any text.
    if (!isTenantSlug(tenantSlug)) {
      return undefined;
    }
    this.#listener.start();
    return this.#answers.find(tenantSlug, async () => {
      const [row] = await this.#pool.query<{
        tenant_id: string;
        is_read_only: boolean | null;
      }>(knex =>
        knex('tenants')
          .select(
            'tenant_id',
            knex.raw('read_only_until > now() as is_read_only'),
          )
          .where('tenant_slug', tenantSlug)
          .whereNull('deleted_at'),
      );
      return (
        row &&
        Object.freeze({
          tenantId: row.tenant_id,
          tenantSlug,
          ...(row.is_read_only && { isReadOnly: true }),
        })
      );
    });
  }

  async roleOf(
    tenant: ActiveTenant,
    principals: readonly string[],
  ): Promise<TenantRole | undefined> {
    const roles = await this.rolesOf(tenant, principals);
    return highestRole([...roles.values()]);
  }

  async rolesOf(
    { tenantId }: ActiveTenant,
    principals: readonly string[],
  ): Promise<ReadonlyMap<string, TenantRole>> {
    if (principals.length === 0) {
      return new Map();
    }
    this.#listener.start();
    const asked = [...new Set(principals.map(normalizePrincipal))].sort();
    const found = await this.#answers.find(
      JSON.stringify([tenantId, asked]),
      async () => {
        const rows = await this.#pool.query<{
          principal: string;
          role: TenantRole;
        }>(knex =>
          knex('tenant_members')
            .select('principal', 'role')
            .where('tenant_id', tenantId)
            .whereRaw('principal = any (?)', [asked]),
        );
        return new Map(rows.map(({ principal, role }) => [principal, role]));
      },
    );
    return found ?? new Map();
  }

  /** Drops all cached results. */
  forget(): void {
    this.#answers.forget();
  }

  /** Keeps the limits of tenants up to date with the registry. */
  follow(limits: TenantLimits): void {
    this.#limits = limits;
    this.#listener.start();
    this.#callLater();
  }

  /**
   * Calls a subscriber with each change, after this snapshot has dropped its earlier results.
   *
   * @internal
   */
  subscribe(subscriber: ChangeSubscriber): void {
    this.#listener.subscribe(subscriber);
  }

  async list(options?: {
    tenantIds?: string[];
  }): Promise<TenantEngineRecord[]> {
    // Each change has the engines and each plugin with instances list all of them at a time.
    return options?.tenantIds
      ? listEngines(this.#pool, options)
      : this.#lists.ask('all', 'engines', () => listEngines(this.#pool));
  }

  onChange(listener: (change?: RegistryChange) => void): () => void {
    // The same function may listen twice.
    const own = (change?: RegistryChange) => listener(change);
    this.#listeners.add(own);
    this.#listener.start();
    this.#callLater();
    return () => this.#listeners.delete(own);
  }

  changed(change?: RegistryChange): void {
    this.#callLater();
    this.#readLimits();
    this.#listeners.forEach(each => each(change));
  }

  async notifyWork(tenantId: string): Promise<void> {
    const { schema } = this.#pool;
    await this.#pool.query(knex =>
      notifyStatement(knex, schema, { workOf: tenantId }),
    );
  }

  onWork(listener: (tenantId: string) => void): () => void {
    const own = (tenantId: string) => listener(tenantId);
    this.#workListeners.add(own);
    this.#listener.start();
    return () => this.#workListeners.delete(own);
  }

  /** Stops listening. Look-ups then query the database each time. */
  async stopListening(): Promise<void> {
    await this.#listener.close();
    this.forget();
  }

  /** Stops listening and polling. Look-ups still query the database. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.stopListening();
    await this.#readingLimits;
  }

  #onRegistryChange(change: RegistryChange): void {
    if ('workOf' in change) {
      this.#workListeners.forEach(each => each(change.workOf));
      return;
    }
    if (!('engineOf' in change)) {
      this.forget();
    }
    if (!('membersOf' in change)) {
      this.changed(change);
    }
  }

  #callLater(): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed && (this.#limits || this.#listeners.size > 0)) {
      const { pollMs, pollWithoutListeningMs } = this.#timing;
      this.#timer = setTimeout(
        () => this.changed(),
        this.isListening ? pollMs : pollWithoutListeningMs,
      ).unref();
    }
  }

  #readLimits(): void {
    this.#areLimitsStale = true;
    if (this.#limits && !this.#isClosed) {
      this.#readingLimits ??= this.#readLimitsWhileStale(this.#limits);
    }
  }

  /**
   * Reads are sequential, so that an older result never replaces a newer one. Never rejects:
   * the known limits hold until they can be read again.
   */
  async #readLimitsWhileStale(limits: TenantLimits): Promise<void> {
    try {
      while (this.#areLimitsStale && !this.#isClosed) {
        this.#areLimitsStale = false;
        limits.replace(await readTenantLimits(this.#pool));
      }
      this.#hasLimitsFailed = false;
    } catch (error) {
      // The timer retries.
      if (!this.#hasLimitsFailed && !this.#isClosed) {
        this.#logger.warn(
          'The limits of tenants could not be read: the known ones still apply',
          toError(error),
        );
      }
      this.#hasLimitsFailed = true;
    }
    // Synchronously with the check that nothing is stale: a later change must start a new read.
    this.#readingLimits = undefined;
  }
}

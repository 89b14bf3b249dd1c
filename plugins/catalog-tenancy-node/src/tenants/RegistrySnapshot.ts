import type { LoggerService } from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import { highestRole } from 'backstage-plugin-tenants-common';
import { LRUCache } from 'lru-cache';
import { listEngines } from '../engines/records';
import type {
  TenantEngineChanges,
  TenantEngineRecord,
} from '../engines/TenantEngineStore';
import { normalizePrincipal } from '../members/principals';
import type { TenantMembers, TenantRole } from '../members/TenantMembers';
import type { TenancyPool } from '../pool/TenancyPool';
import type { TenantLimits } from '../pool/TenantLimits';
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
 *
 * @public
 */
export interface RegistryTiming {
  /**
   * For how long an answer is remembered: 5 seconds by default. It bounds how
   * long a change without a notification, such as one by hand, stays unseen.
   */
  ttlMs: number;
  /** How often the connection that listens is tried: 10 seconds by default. */
  heartbeatMs: number;
  /** How long that may take: 2 seconds by default. */
  answerMs: number;
  /** The pauses before it connects again: 0.1 to 60 seconds by default. */
  reconnectMs: { shortest: number; longest: number };
  /**
   * How often limits are read and listeners are called though nothing was heard, for changes
   * by hand: 60 seconds by default.
   */
  hearingMs: number;
  /** The same while it does not hear: 5 seconds by default. */
  deafMs: number;
}

const TIMING: RegistryTiming = {
  ttlMs: 5_000,
  heartbeatMs: 10_000,
  answerMs: 2_000,
  reconnectMs: { shortest: 100, longest: 60_000 },
  hearingMs: 60_000,
  deafMs: 5_000,
};

/**
 * What a snapshot works with.
 *
 * @public
 */
export interface RegistrySnapshotOptions {
  /**
   * Answers look-ups. The snapshot listens on one more connection with the same
   * settings, which does not count among the pool's.
   */
  pool: Pick<TenancyPool, 'connection' | 'query' | 'schema'>;
  /** Logs when notifications of changes stop, and when they arrive again. */
  logger: LoggerService;
  /** What differs from the defaults. */
  timing?: Partial<RegistryTiming>;
}

// Of callers and tenants that were seen lately.
const MOST_ANSWERS = 50_000;

/**
 * Answers of the database, remembered for some seconds while changes are heard. Those who ask
 * the same at the same time share one query.
 */
class RememberedAnswers {
  readonly #answers: LRUCache<string, object>;
  readonly #underWay = new Map<string, Promise<object | undefined>>();
  readonly #hears: () => boolean;
  // Moves with each change: an answer from before must not be remembered.
  #generation = 0;

  constructor(options: { ttlMs: number; hears: () => boolean }) {
    this.#answers = new LRUCache({ max: MOST_ANSWERS, ttl: options.ttlMs });
    this.#hears = options.hears;
  }

  /** The answer to a question. That there is none is not remembered. */
  async find<T extends object>(
    question: string,
    ask: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const known = this.#answers.get(question) as T | undefined;
    return known ?? this.#ask(question, ask);
  }

  /** Has all later questions ask the database, and not share an earlier answer. */
  forget(): void {
    this.#generation += 1;
    this.#answers.clear();
    this.#underWay.clear();
  }

  #ask<T extends object>(
    question: string,
    ask: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const underWay = this.#underWay.get(question);
    if (underWay) {
      return underWay as Promise<T | undefined>;
    }
    const generation = this.#generation;
    const answer = ask()
      .then(found => {
        if (found && this.#hears() && generation === this.#generation) {
          this.#answers.set(question, found);
        }
        return found;
      })
      .finally(() => {
        if (this.#underWay.get(question) === answer) {
          this.#underWay.delete(question);
        }
      });
    this.#underWay.set(question, answer);
    return answer;
  }
}

/**
 * What one process knows of the registry: its tenants, their members, limits and engines.
 *
 * It listens on a separate connection, from the first use on. While nothing tells it that
 * notifications arrive, as behind a pooler that hands out connections by transaction, it
 * remembers nothing: each look-up asks the database.
 *
 * @public
 */
export class RegistrySnapshot
  implements TenantDirectory, TenantMembers, TenantEngineChanges
{
  readonly #pool: RegistrySnapshotOptions['pool'];
  readonly #logger: LoggerService;
  readonly #timing: RegistryTiming;
  readonly #listener: ChangeListener;
  readonly #answers: RememberedAnswers;
  readonly #listeners = new Set<() => void>();
  readonly #workListeners = new Set<(tenantId: string) => void>();
  #limits?: TenantLimits;
  #areLimitsStale = false;
  #readingLimits?: Promise<void>;
  #hasLimitsFailed = false;
  #timer?: NodeJS.Timeout;
  #isClosed = false;

  /** It connects at the first use. */
  static create(options: RegistrySnapshotOptions): RegistrySnapshot {
    return new RegistrySnapshot(options);
  }

  private constructor({ pool, logger, timing }: RegistrySnapshotOptions) {
    this.#pool = pool;
    this.#logger = logger;
    this.#timing = { ...TIMING, ...timing };
    this.#listener = new ChangeListener({ ...this.#timing, pool, logger });
    this.#answers = new RememberedAnswers({
      ttlMs: this.#timing.ttlMs,
      hears: () => this.#listener.hears,
    });
    this.#listener.subscribe({
      onChange: change => this.#heard(change),
      // When it begins to hear too: changes may have passed unheard before that.
      onHearing: () => {
        this.forget();
        this.changed();
      },
    });
  }

  /** {@inheritDoc TenantEngineChanges.hears} */
  get hears(): boolean {
    return this.#listener.hears;
  }

  /** {@inheritDoc TenantDirectory.findActive} */
  async findActive(tenantSlug: string): Promise<ActiveTenant | undefined> {
    // Only slugs that exist are remembered: clients can send any.
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

  /** {@inheritDoc TenantMembers.roleOf} */
  async roleOf(
    tenant: ActiveTenant,
    principals: readonly string[],
  ): Promise<TenantRole | undefined> {
    const roles = await this.rolesOf(tenant, principals);
    return highestRole([...roles.values()]);
  }

  /** {@inheritDoc TenantMembers.rolesOf} */
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

  /** Has the next look-ups ask the database, whatever tenant or member they are about. */
  forget(): void {
    this.#answers.forget();
  }

  /** Keeps the limits of tenants as the registry has them. */
  follow(limits: TenantLimits): void {
    this.#limits = limits;
    this.#listener.start();
    this.#callLater();
  }

  /**
   * Calls a subscriber with each change, when this answers with the new state.
   *
   * @internal
   */
  subscribe(subscriber: ChangeSubscriber): void {
    this.#listener.subscribe(subscriber);
  }

  /** {@inheritDoc TenantEngineChanges.list} */
  list(options?: { tenantIds?: string[] }): Promise<TenantEngineRecord[]> {
    return listEngines(this.#pool, options);
  }

  /** {@inheritDoc TenantEngineChanges.onChange} */
  onChange(listener: () => void): () => void {
    // The same function may listen twice.
    const own = () => listener();
    this.#listeners.add(own);
    this.#listener.start();
    this.#callLater();
    return () => this.#listeners.delete(own);
  }

  /** {@inheritDoc TenantEngineChanges.changed} */
  changed(): void {
    this.#callLater();
    this.#readLimits();
    this.#listeners.forEach(each => each());
  }

  /** {@inheritDoc TenantEngineChanges.notifyWork} */
  async notifyWork(tenantId: string): Promise<void> {
    const { schema } = this.#pool;
    await this.#pool.query(knex =>
      notifyStatement(knex, schema, { workOf: tenantId }),
    );
  }

  /** {@inheritDoc TenantEngineChanges.onWork} */
  onWork(listener: (tenantId: string) => void): () => void {
    const own = (tenantId: string) => listener(tenantId);
    this.#workListeners.add(own);
    this.#listener.start();
    return () => this.#workListeners.delete(own);
  }

  /** Stops listening. Look-ups ask the database then, on connections that do not stay. */
  async deafen(): Promise<void> {
    await this.#listener.close();
    this.forget();
  }

  /** Ends all; look-ups still ask the database. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.deafen();
    await this.#readingLimits;
  }

  #heard(change: RegistryChange): void {
    if ('workOf' in change) {
      this.#workListeners.forEach(each => each(change.workOf));
      return;
    }
    if (!('engineOf' in change)) {
      this.forget();
    }
    if (!('membersOf' in change)) {
      this.changed();
    }
  }

  #callLater(): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed && (this.#limits || this.#listeners.size > 0)) {
      const { hearingMs, deafMs } = this.#timing;
      this.#timer = setTimeout(
        () => this.changed(),
        this.hears ? hearingMs : deafMs,
      ).unref();
    }
  }

  #readLimits(): void {
    this.#areLimitsStale = true;
    this.#readingLimits ??= this.#readLimitsWhileStale().finally(() => {
      this.#readingLimits = undefined;
    });
  }

  /**
   * One read after the other: the answer to a later one is never replaced by that to an
   * earlier one. Never rejects: what is known holds until it can be read again.
   */
  async #readLimitsWhileStale(): Promise<void> {
    try {
      while (this.#limits && this.#areLimitsStale && !this.#isClosed) {
        this.#areLimitsStale = false;
        this.#limits.replace(await readTenantLimits(this.#pool));
      }
      this.#hasLimitsFailed = false;
    } catch (error) {
      // The timer reads them again.
      if (!this.#hasLimitsFailed && !this.#isClosed) {
        this.#logger.warn(
          'The limits of tenants could not be read: those known so far hold',
          toError(error),
        );
      }
      this.#hasLimitsFailed = true;
    }
  }
}

import type { LoggerService } from '@backstage/backend-plugin-api';
import { LRUCache } from 'lru-cache';
import type { TenancyPool } from '../pool/TenancyPool';
import { ChangeListener } from './ChangeListener';
import { isTenantSlug } from './Tenant';
import type { ActiveTenant, TenantDirectory } from './TenantDirectory';

// Tenants of which requests were seen lately. Only slugs that exist are remembered:
// clients can send any.
const MOST_TENANTS = 10_000;

/**
 * Intervals and deadlines of a directory.
 *
 * @public
 */
export interface DirectoryTiming {
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
}

/** What holds where nothing else is said. */
export const TIMING: DirectoryTiming = {
  ttlMs: 5_000,
  heartbeatMs: 10_000,
  answerMs: 2_000,
  reconnectMs: { shortest: 100, longest: 60_000 },
};

/**
 * What a directory works with.
 *
 * @public
 */
export interface CachingTenantDirectoryOptions {
  /**
   * Answers look-ups. The directory listens on one more connection with the same
   * settings, which does not count among the pool's.
   */
  pool: Pick<TenancyPool, 'connection' | 'query' | 'schema'>;
  /** Logs when notifications of changes stop, and when they arrive again. */
  logger: LoggerService;
  /** What differs from the defaults. */
  timing?: Partial<DirectoryTiming>;
}

/**
 * {@link TenantDirectory} that remembers answers while it is known to hear of changes.
 *
 * It listens on a separate connection, from the first look-up on. What it hears
 * there decides: while nothing tells it that notifications arrive, as behind a
 * pooler that hands out connections by transaction, each look-up asks the database.
 *
 * @public
 */
export class CachingTenantDirectory implements TenantDirectory {
  readonly #pool: CachingTenantDirectoryOptions['pool'];
  readonly #listener: ChangeListener;
  readonly #found: LRUCache<string, ActiveTenant>;
  readonly #underWay = new Map<string, Promise<ActiveTenant | undefined>>();
  // Moves with whatever may make an answer wrong that is still on its way.
  #generation = 0;

  /** It connects at the first look-up. */
  static create(
    options: CachingTenantDirectoryOptions,
  ): CachingTenantDirectory {
    const { pool, logger } = options;
    const { ttlMs, ...timing } = { ...TIMING, ...options.timing };
    return CachingTenantDirectory.listening({
      pool,
      listener: new ChangeListener({ ...timing, pool, logger }),
      ttlMs,
    });
  }

  /**
   * With a listener that others share.
   *
   * @internal
   */
  static listening(options: {
    pool: CachingTenantDirectoryOptions['pool'];
    listener: ChangeListener;
    ttlMs: number;
  }): CachingTenantDirectory {
    return new CachingTenantDirectory(options);
  }

  private constructor(options: {
    pool: CachingTenantDirectoryOptions['pool'];
    listener: ChangeListener;
    ttlMs: number;
  }) {
    const { pool, listener, ttlMs } = options;
    this.#pool = pool;
    this.#found = new LRUCache({ max: MOST_TENANTS, ttl: ttlMs });
    this.#listener = listener;
    listener.subscribe({
      onChange: change => {
        if ('tenantSlug' in change) {
          this.forget(change.tenantSlug);
        }
      },
      // When it begins to hear too: a look-up may have begun before that.
      onHearing: () => this.#forgetAll(),
    });
  }

  /** {@inheritDoc TenantDirectory.findActive} */
  async findActive(tenantSlug: string): Promise<ActiveTenant | undefined> {
    if (!isTenantSlug(tenantSlug)) {
      return undefined;
    }
    this.#listener.start();
    return this.#found.get(tenantSlug) ?? this.#lookUp(tenantSlug);
  }

  /** {@inheritDoc TenantDirectory.forget} */
  forget(tenantSlug: string): void {
    this.#generation += 1;
    this.#found.delete(tenantSlug);
    // A later look-up must not get an earlier answer.
    this.#underWay.delete(tenantSlug);
  }

  /** Stops listening, with all who share the listener. Look-ups ask the database then. */
  async close(): Promise<void> {
    this.#forgetAll();
    await this.#listener.close();
    this.#forgetAll();
  }

  /** Those who ask for the same slug at the same time share one query. */
  #lookUp(tenantSlug: string): Promise<ActiveTenant | undefined> {
    const underWay = this.#underWay.get(tenantSlug);
    if (underWay) {
      return underWay;
    }
    const lookUp = this.#query(tenantSlug).finally(() => {
      if (this.#underWay.get(tenantSlug) === lookUp) {
        this.#underWay.delete(tenantSlug);
      }
    });
    this.#underWay.set(tenantSlug, lookUp);
    return lookUp;
  }

  async #query(tenantSlug: string): Promise<ActiveTenant | undefined> {
    const generation = this.#generation;
    const [row] = await this.#pool.query<{ tenant_id: string }>(knex =>
      knex('tenants')
        .select('tenant_id')
        .where('tenant_slug', tenantSlug)
        .whereNull('deleted_at'),
    );
    if (!row) {
      return undefined;
    }
    const tenant = Object.freeze({ tenantId: row.tenant_id, tenantSlug });
    if (this.#listener.hears && generation === this.#generation) {
      this.#found.set(tenantSlug, tenant);
    }
    return tenant;
  }

  #forgetAll(): void {
    this.#generation += 1;
    this.#found.clear();
    this.#underWay.clear();
  }
}

import type { LoggerService } from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import type { TenancyPool } from '../pool/TenancyPool';
import type { TenantLimits } from '../pool/TenantLimits';
import type { ChangeListener } from './ChangeListener';
import { readLimitsOf, readTenantLimits } from './limits';

/** How often all limits are read though nothing was heard. */
export const LIMITS_TIMING = {
  /** While the process hears of changes: for those by hand. */
  hearingMs: 60_000,
  deafMs: 5_000,
};

/**
 * Keeps {@link TenantLimits} as the registry has them: by its notifications, and by reading
 * all of them from time to time.
 */
export class ListeningTenantLimits {
  readonly #limits: TenantLimits;
  readonly #pool: Pick<TenancyPool, 'query'>;
  readonly #listener: ChangeListener;
  readonly #logger: LoggerService;
  readonly #timing: typeof LIMITS_TIMING;
  /** Tenants of which something has changed, by slug. */
  readonly #changed = new Set<string>();
  #readsAll = false;
  #reading: Promise<void> | undefined;
  #timer?: NodeJS.Timeout;
  #closed = false;
  #hasFailed = false;

  constructor(options: {
    limits: TenantLimits;
    pool: Pick<TenancyPool, 'query'>;
    listener: ChangeListener;
    logger: LoggerService;
    timing?: typeof LIMITS_TIMING;
  }) {
    this.#limits = options.limits;
    this.#pool = options.pool;
    this.#listener = options.listener;
    this.#logger = options.logger;
    this.#timing = options.timing ?? LIMITS_TIMING;
  }

  /** Begins to listen. */
  start(): void {
    this.#listener.subscribe({
      onChange: change => {
        if ('tenantSlug' in change) {
          this.#changed.add(change.tenantSlug);
          this.#read();
        }
      },
      // Changes may have passed unheard before it begins to hear.
      onHearing: () => this.#readAll(),
    });
    this.#listener.start();
    this.#readLater();
  }

  /** Reads nothing any more, once what is under way has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#reading;
  }

  #readAll(): void {
    this.#readsAll = true;
    this.#read();
    this.#readLater();
  }

  #readLater(): void {
    clearTimeout(this.#timer);
    if (!this.#closed) {
      const { hearingMs, deafMs } = this.#timing;
      this.#timer = setTimeout(
        () => this.#readAll(),
        this.#listener.hears ? hearingMs : deafMs,
      ).unref();
    }
  }

  #read(): void {
    this.#reading ??= this.#readChanges().finally(() => {
      this.#reading = undefined;
    });
  }

  /**
   * One read after the other: the answer to a later one is never replaced by that to an
   * earlier one. Never rejects: what is known holds until it can be read again.
   */
  async #readChanges(): Promise<void> {
    try {
      while (!this.#closed && (this.#readsAll || this.#changed.size > 0)) {
        if (this.#readsAll) {
          this.#readsAll = false;
          this.#changed.clear();
          this.#limits.replace(await readTenantLimits(this.#pool));
        } else {
          const [slug] = this.#changed;
          this.#changed.delete(slug);
          const found = await readLimitsOf(this.#pool, slug);
          if (found) {
            this.#limits.set(found.tenantId, found.limits);
          }
        }
      }
      this.#hasFailed = false;
    } catch (error) {
      // The timer reads all.
      if (!this.#hasFailed && !this.#closed) {
        this.#logger.warn(
          'The limits of tenants could not be read: those known so far hold',
          toError(error),
        );
      }
      this.#hasFailed = true;
    }
  }
}

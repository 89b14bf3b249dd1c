import type { OperationLimits } from '../config/readTenancyConfig';
import { DatabaseUnavailableError, TenantBusyError } from './errors';
import { FairQueue } from './FairQueue';
import type { TenantLimits } from './TenantLimits';

/** Of operations that are of no tenant: look-ups in the registry, and the administrator's. */
export const NO_TENANT = '';

/**
 * How many operations of tenants a pool has.
 *
 * @public
 */
export interface OperationCounts {
  /** Those that have a connection, or are about to get one. */
  running: number;
  /** Those that wait for their turn. */
  waiting: number;
  /** Refused so far with {@link TenantBusyError}. */
  refused: number;
}

/** How one operation waits for its turn. */
export interface TurnOptions {
  /** Ends the waiting, with its reason. */
  signal?: AbortSignal;
  /**
   * It continues what has begun to be answered: it is not refused, however many of its
   * tenant wait, and however long it takes until those before it are done.
   */
  continues?: boolean;
}

/** An operation that is under way. */
interface Turn {
  /** By `performance.now`. */
  since: number;
}

interface Waiter {
  tenantId: string;
  resolve(turn: Turn): void;
  reject(error: unknown): void;
}

/**
 * A tenant whose last operation began so long ago is not at work, in milliseconds. A page asks
 * for several things one after the other.
 */
const AT_WORK_MS = 100;

/**
 * An operation that takes longer, in milliseconds, leaves others of its tenant their turns beside
 * other tenants: one slow statement would have all of its tenant's pages wait.
 */
const SLOW_MS = 250;

/**
 * Gives operations the connections of a pool in turn: among tenants to the one that has the
 * fewest, and to none more than its limit: that of the registry, or else the configured one.
 * While another tenant is at work, the limit is a lower one, because what PostgreSQL does at the
 * same time shares its processors.
 *
 * What one tenant has under way, or waiting, counts for that tenant alone. Another one waits
 * only while all connections are in use.
 */
export class TenantConcurrency {
  readonly #limits: OperationLimits;
  readonly #own?: Pick<TenantLimits, 'of'>;
  readonly #waitMs: number;
  readonly #onFull: () => void;
  /** By tenant; none is empty. */
  readonly #running = new Map<string, Set<Turn>>();
  /** Whose operation came last, and when, and the last one of another tenant. */
  #latest?: { tenantId: string; at: number };
  #latestOther?: { tenantId: string; at: number };
  readonly #queue = new FairQueue<string, Waiter>(tenantId =>
    this.#runningOf(tenantId),
  );
  readonly #unsubscribe?: () => void;
  #free: number;
  readonly #max: number;
  #refused = 0;
  #recheck?: NodeJS.Timeout;

  /**
   * @param options - `waitMs` is how long an operation waits while all `max` connections are
   * in use, and `onFull` is called when one has waited in vain; `own` are the limits of single
   * tenants, which may change at any time
   */
  constructor(options: {
    max: number;
    waitMs: number;
    limits: OperationLimits;
    own?: Pick<TenantLimits, 'of' | 'onChange'>;
    onFull: () => void;
  }) {
    this.#max = options.max;
    this.#free = options.max;
    this.#waitMs = options.waitMs;
    this.#limits = options.limits;
    this.#onFull = options.onFull;
    this.#own = options.own;
    // One that was raised lets more of those in that wait.
    this.#unsubscribe = options.own?.onChange(() => this.#dispatch());
  }

  get counts(): OperationCounts {
    return {
      running: this.#max - this.#free,
      waiting: this.#queue.size,
      refused: this.#refused,
    };
  }

  /**
   * Takes a turn.
   *
   * @param tenantId - in lower case, or {@link NO_TENANT}
   * @returns what gives the turn back, to be called once
   * @throws {@link TenantBusyError} where too many operations of the tenant wait, or this one
   * has waited too long for them; {@link DatabaseUnavailableError} where all connections are
   * in use for too long; the reason of the signal
   */
  async take(tenantId: string, options: TurnOptions = {}): Promise<() => void> {
    options.signal?.throwIfAborted();
    this.#noteAtWork(tenantId);
    const turn =
      this.#free > 0 && this.#isBelowLimit(tenantId)
        ? this.#begin(tenantId)
        : await this.#wait(tenantId, options);
    return () => this.#end(tenantId, turn);
  }

  /** @param error - for all that wait */
  close(error: Error): void {
    this.#unsubscribe?.();
    clearInterval(this.#recheck);
    this.#queue.clear().forEach(waiter => waiter.reject(error));
  }

  async #wait(
    tenantId: string,
    { signal, continues = false }: TurnOptions,
  ): Promise<Turn> {
    const { queue, queueTimeoutMs } = this.#limits;
    const waitsForItsOwn = !this.#isBelowLimit(tenantId);
    if (waitsForItsOwn && !continues && this.#queue.sizeOf(tenantId) >= queue) {
      throw this.#refuse();
    }
    let timer: NodeJS.Timeout | undefined;
    let stop = () => {};
    try {
      return await new Promise<Turn>((resolve, reject) => {
        let isServed = false;
        const waiter: Waiter = {
          tenantId,
          resolve(turn) {
            isServed = true;
            resolve(turn);
          },
          reject,
        };
        const leave = (error: unknown) => {
          if (this.#queue.remove(tenantId, waiter)) {
            reject(error);
          }
        };
        const expire = () => {
          // It may be its turn since something became slow, or the last other tenant left.
          this.#dispatch();
          if (isServed) {
            return;
          }
          if (this.#isBelowLimit(tenantId)) {
            this.#onFull();
            leave(
              new DatabaseUnavailableError(
                `No connection to the database became free within ${
                  this.#waitMs
                } ms`,
              ),
            );
          } else if (continues) {
            timer = setTimeout(expire, this.#waitMs);
          } else {
            leave(this.#refuse());
          }
        };
        const abort = () => leave(signal?.reason);
        this.#queue.add(tenantId, waiter);
        // No event tells that what is under way has become slow.
        this.#recheck ??= setInterval(() => this.#dispatch(), SLOW_MS);
        timer = setTimeout(
          expire,
          waitsForItsOwn ? queueTimeoutMs : this.#waitMs,
        );
        signal?.addEventListener('abort', abort);
        stop = () => signal?.removeEventListener('abort', abort);
      });
    } finally {
      clearTimeout(timer);
      stop();
      if (this.#queue.size === 0) {
        clearInterval(this.#recheck);
        this.#recheck = undefined;
      }
    }
  }

  #dispatch(): void {
    while (this.#free > 0) {
      const waiter = this.#queue.next(tenantId => this.#isBelowLimit(tenantId));
      if (!waiter) {
        return;
      }
      waiter.resolve(this.#begin(waiter.tenantId));
    }
  }

  #begin(tenantId: string): Turn {
    this.#free -= 1;
    const turn: Turn = { since: performance.now() };
    const running = this.#running.get(tenantId);
    if (running) {
      running.add(turn);
    } else {
      this.#running.set(tenantId, new Set([turn]));
    }
    return turn;
  }

  #end(tenantId: string, turn: Turn): void {
    this.#free += 1;
    const running = this.#running.get(tenantId);
    running?.delete(turn);
    if (running?.size === 0) {
      this.#running.delete(tenantId);
    }
    this.#dispatch();
  }

  #isBelowLimit(tenantId: string): boolean {
    if (tenantId === NO_TENANT) {
      return true;
    }
    const own = this.#own?.of(tenantId)?.concurrency;
    const limit = own ?? this.#limits.concurrency;
    const running = this.#running.get(tenantId);
    if (!running) {
      return true;
    }
    if (running.size >= limit) {
      return false;
    }
    if (own !== undefined || !this.#isBesideOthers(tenantId)) {
      return true;
    }
    const slow = performance.now() - SLOW_MS;
    const quick = [...running].filter(({ since }) => since > slow);
    return quick.length < this.#limits.concurrencyBesideOthers;
  }

  #noteAtWork(tenantId: string): void {
    if (tenantId === NO_TENANT) {
      return;
    }
    if (this.#latest?.tenantId !== tenantId) {
      this.#latestOther = this.#latest;
    }
    this.#latest = { tenantId, at: performance.now() };
  }

  /** Whether another tenant is at work. */
  #isBesideOthers(tenantId: string): boolean {
    const other =
      this.#latest?.tenantId === tenantId ? this.#latestOther : this.#latest;
    return other !== undefined && performance.now() - other.at < AT_WORK_MS;
  }

  #runningOf(tenantId: string): number {
    return this.#running.get(tenantId)?.size ?? 0;
  }

  #refuse(): TenantBusyError {
    this.#refused += 1;
    return new TenantBusyError();
  }
}

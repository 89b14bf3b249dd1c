import type { OperationLimits } from '../config/readTenancyConfig';
import { DatabaseUnavailableError, TenantBusyError } from './errors';
import { FairQueue } from './FairQueue';
import type { TenantLimits } from './TenantLimits';

/**
 * The owner of operations without a tenant: look-ups in the registry, and those of the
 * administrator.
 */
export const NO_TENANT = '';

/**
 * The numbers of operations of a pool.
 *
 * @public
 */
export interface OperationCounts {
  /** Operations with a connection, or about to get one. */
  running: number;
  /** Operations in the queue. */
  waiting: number;
  /** Operations refused with {@link TenantBusyError} so far. */
  refused: number;
}

/** How an operation waits for a slot. */
export interface SlotOptions {
  /** Ends the wait with its reason. */
  signal?: AbortSignal;
  /**
   * The operation continues a response that has begun: neither the length of the tenant's queue
   * nor the time in it refuses it.
   */
  continues?: boolean;
}

/** A running operation. */
interface Slot {
  /** The start, by `performance.now()`. */
  since: number;
}

interface Waiter {
  tenantId: string;
  resolve(slot: Slot): void;
  reject(error: unknown): void;
}

/**
 * A tenant counts as active for this time after the begin of its last operation, in
 * milliseconds. It spans the sequential requests of one page.
 */
const AT_WORK_MS = 100;

/**
 * Operations that have run longer, in milliseconds, do not count towards
 * `concurrencyBesideOthers`: one slow statement would otherwise block all pages of its tenant.
 */
const SLOW_MS = 250;

/**
 * Distributes the connections of a pool: to the tenant that has the fewest, up to the tenant's
 * limit in the registry, or else the configured one. While another tenant is active, a lower
 * limit applies, because concurrent statements share PostgreSQL's processors.
 *
 * Running and waiting operations count for their own tenant only. Another tenant waits only
 * while all connections are in use.
 */
export class TenantConcurrency {
  readonly #limits: OperationLimits;
  readonly #own?: Pick<TenantLimits, 'of'>;
  readonly #waitMs: number;
  readonly #onFull: () => void;
  /** By tenant. No set is empty. */
  readonly #running = new Map<string, Set<Slot>>();
  /** The tenant and time of the last operation, and of the last one of another tenant. */
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
   * @param options - `waitMs`: how long an operation waits while all `max` connections are in
   * use; `onFull`: called when that time is over; `own`: limits of single tenants, which may
   * change
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
    // A raised limit may admit waiting operations.
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
   * Waits for a slot.
   *
   * @param tenantId - in lower case, or {@link NO_TENANT}
   * @returns a function that releases the slot, to be called once
   * @throws {@link TenantBusyError} if the tenant's queue is full, or the wait exceeds
   * `queueTimeoutMs`; {@link DatabaseUnavailableError} if all connections are in use for
   * `waitMs`; the reason of the signal
   */
  async acquire(
    tenantId: string,
    options: SlotOptions = {},
  ): Promise<() => void> {
    options.signal?.throwIfAborted();
    this.#noteAtWork(tenantId);
    const slot =
      this.#free > 0 && this.#isBelowLimit(tenantId)
        ? this.#begin(tenantId)
        : await this.#wait(tenantId, options);
    return () => this.#end(tenantId, slot);
  }

  /** @param error - rejects all waiting operations */
  close(error: Error): void {
    this.#unsubscribe?.();
    clearInterval(this.#recheck);
    this.#queue.clear().forEach(waiter => waiter.reject(error));
  }

  async #wait(
    tenantId: string,
    { signal, continues = false }: SlotOptions,
  ): Promise<Slot> {
    const { queue, queueTimeoutMs } = this.#limits;
    const waitsForItsOwn = !this.#isBelowLimit(tenantId);
    if (waitsForItsOwn && !continues && this.#queue.sizeOf(tenantId) >= queue) {
      throw this.#refuse();
    }
    let timer: NodeJS.Timeout | undefined;
    let stop = () => {};
    try {
      return await new Promise<Slot>((resolve, reject) => {
        let isServed = false;
        const waiter: Waiter = {
          tenantId,
          resolve(slot) {
            isServed = true;
            resolve(slot);
          },
          reject,
        };
        const leave = (error: unknown) => {
          if (this.#queue.remove(tenantId, waiter)) {
            reject(error);
          }
        };
        const expire = () => {
          // An operation may have become slow, or the other tenant inactive, since the last
          // check.
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
        // No event signals that a running operation has become slow.
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

  #begin(tenantId: string): Slot {
    this.#free -= 1;
    const slot: Slot = { since: performance.now() };
    const running = this.#running.get(tenantId);
    if (running) {
      running.add(slot);
    } else {
      this.#running.set(tenantId, new Set([slot]));
    }
    return slot;
  }

  #end(tenantId: string, slot: Slot): void {
    this.#free += 1;
    const running = this.#running.get(tenantId);
    running?.delete(slot);
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

  /** Whether another tenant is active. */
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

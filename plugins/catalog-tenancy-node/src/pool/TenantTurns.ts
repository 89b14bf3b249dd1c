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

interface Waiter {
  tenantId: string;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Gives operations the connections of a pool in turn: among tenants to the one that has the
 * fewest, and to none more than its limit: that of the registry, or else the configured one.
 *
 * What one tenant has under way, or waiting, counts for that tenant alone. Another one waits
 * only while all connections are in use.
 */
export class TenantTurns {
  readonly #limits: OperationLimits;
  readonly #own?: Pick<TenantLimits, 'of'>;
  readonly #waitMs: number;
  readonly #onFull: () => void;
  /** By tenant; none has 0. */
  readonly #running = new Map<string, number>();
  readonly #queue = new FairQueue<string, Waiter>(tenantId =>
    this.#runningOf(tenantId),
  );
  readonly #unsubscribe?: () => void;
  #free: number;
  readonly #max: number;
  #refused = 0;

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
   * Takes a turn, until {@link TenantTurns.give} is called with the same tenant.
   *
   * @param tenantId - in lower case, or {@link NO_TENANT}
   * @throws {@link TenantBusyError} where too many operations of the tenant wait, or this one
   * has waited too long for them; {@link DatabaseUnavailableError} where all connections are
   * in use for too long; the reason of the signal
   */
  async take(tenantId: string, options: TurnOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    if (this.#free > 0 && this.#isBelowLimit(tenantId)) {
      this.#begin(tenantId);
      return;
    }
    await this.#wait(tenantId, options);
  }

  /** Gives a turn back. */
  give(tenantId: string): void {
    this.#free += 1;
    const running = this.#runningOf(tenantId) - 1;
    if (running > 0) {
      this.#running.set(tenantId, running);
    } else {
      this.#running.delete(tenantId);
    }
    this.#dispatch();
  }

  /** @param error - for all that wait */
  close(error: Error): void {
    this.#unsubscribe?.();
    this.#queue.clear().forEach(waiter => waiter.reject(error));
  }

  async #wait(
    tenantId: string,
    { signal, continues = false }: TurnOptions,
  ): Promise<void> {
    const { queue, queueTimeoutMs } = this.#limits;
    const waitsForItsOwn = !this.#isBelowLimit(tenantId);
    if (waitsForItsOwn && !continues && this.#queue.sizeOf(tenantId) >= queue) {
      throw this.#refuse();
    }
    let timer: NodeJS.Timeout | undefined;
    let stop = () => {};
    try {
      await new Promise<void>((resolve, reject) => {
        const waiter: Waiter = { tenantId, resolve, reject };
        const leave = (error: unknown) => {
          if (this.#queue.remove(tenantId, waiter)) {
            reject(error);
          }
        };
        const expire = () => {
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
    }
  }

  #dispatch(): void {
    while (this.#free > 0) {
      const waiter = this.#queue.next(tenantId => this.#isBelowLimit(tenantId));
      if (!waiter) {
        return;
      }
      this.#begin(waiter.tenantId);
      waiter.resolve();
    }
  }

  #begin(tenantId: string): void {
    this.#free -= 1;
    this.#running.set(tenantId, this.#runningOf(tenantId) + 1);
  }

  #isBelowLimit(tenantId: string): boolean {
    return (
      tenantId === NO_TENANT ||
      this.#runningOf(tenantId) < this.#concurrencyOf(tenantId)
    );
  }

  #concurrencyOf(tenantId: string): number {
    return this.#own?.of(tenantId)?.concurrency ?? this.#limits.concurrency;
  }

  #runningOf(tenantId: string): number {
    return this.#running.get(tenantId) ?? 0;
  }

  #refuse(): TenantBusyError {
    this.#refused += 1;
    return new TenantBusyError();
  }
}

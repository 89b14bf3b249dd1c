import { FairQueue } from 'backstage-plugin-catalog-tenancy-node';

/**
 * How long a slice may block the event loop, in milliseconds. A request passes the event loop
 * about eight times and may wait for a slice each time: slices of 5 ms made short reads seven
 * times slower, and shorter slices did not slow down long lists.
 */
const SLICE_MS = 0.2;

/**
 * How long slices pause while tenants without long work have requests, in milliseconds. Such
 * requests can pass the event loop several times in a pause without waiting for a slice.
 */
const PAUSE_MS = 1;

/** So few items are processed at once; each takes about ten microseconds. */
const DONE_AT_ONCE = 20;

/** Counts by tenant. */
class TenantCounts {
  /** No count is 0. */
  readonly #counts = new Map<string, number>();

  /** @returns a function that undoes the addition, to be called once */
  add(tenantId: string): () => void {
    this.#counts.set(tenantId, (this.#counts.get(tenantId) ?? 0) + 1);
    return () => {
      const left = this.#counts.get(tenantId)! - 1;
      if (left > 0) {
        this.#counts.set(tenantId, left);
      } else {
        this.#counts.delete(tenantId);
      }
    };
  }

  tenants(): string[] {
    return [...this.#counts.keys()];
  }
}

/**
 * Runs long work of tenants in slices, one for each turn of the event loop, with the tenants
 * taking turns. Other requests wait for at most one slice, however many long responses are
 * being written. While a tenant without long work has requests, there is a pause after each
 * tenant with long work has had a slice.
 */
export class WorkSlices {
  /** Owners hold no resources, so the queue is a round robin. */
  readonly #queue = new FairQueue<string, () => void>(() => 0);
  readonly #requests = new TenantCounts();
  readonly #longWork = new TenantCounts();
  #isScheduled = false;
  #slicesSincePause = 0;

  /**
   * Counts a running request of a tenant.
   *
   * @returns a function to call once at the end of the request
   */
  enter(tenantId: string): () => void {
    return this.#requests.add(tenantId);
  }

  /** Like `items.map(change)`, in slices. */
  async map<TItem, TResult>(
    tenantId: string,
    items: readonly TItem[],
    change: (item: TItem) => TResult,
  ): Promise<TResult[]> {
    if (items.length <= DONE_AT_ONCE) {
      return items.map(change);
    }
    const results: TResult[] = [];
    const end = this.#longWork.add(tenantId);
    try {
      while (results.length < items.length) {
        await this.#turn(tenantId);
        const until = performance.now() + SLICE_MS;
        do {
          results.push(change(items[results.length]));
        } while (results.length < items.length && performance.now() < until);
      }
    } finally {
      end();
    }
    return results;
  }

  #turn(tenantId: string): Promise<void> {
    return new Promise(resolve => {
      this.#queue.add(tenantId, resolve);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) {
      return;
    }
    this.#isScheduled = true;
    const next = () => {
      this.#isScheduled = false;
      this.#slicesSincePause += 1;
      this.#queue.next()?.();
      if (this.#queue.size > 0) {
        this.#schedule();
      }
    };
    if (this.#isPauseDue()) {
      this.#slicesSincePause = 0;
      setTimeout(next, PAUSE_MS);
    } else {
      setImmediate(next);
    }
  }

  #isPauseDue(): boolean {
    const longWork = this.#longWork.tenants();
    return (
      this.#slicesSincePause >= longWork.length &&
      this.#requests.tenants().some(tenantId => !longWork.includes(tenantId))
    );
  }
}

/** One instance for the process, which has one event loop. */
export const workSlices = new WorkSlices();

import { FairQueue } from 'backstage-plugin-catalog-tenancy-node';

/**
 * For how long a piece of work may keep the event loop, in milliseconds. A request goes through
 * the loop some eight times before it is answered, and waits for a slice each time: slices of 5 ms
 * made short reads seven times slower, while long lists took no longer with shorter ones.
 */
const SLICE_MS = 0.2;

/**
 * How long long work pauses while tenants without any have requests under way, in milliseconds.
 * These go through the loop several times meanwhile, and do not wait for a slice each time.
 */
const PAUSE_MS = 1;

/** So little is done at once: each of these takes some ten microseconds. */
const DONE_AT_ONCE = 20;

/** How many things tenants have under way. */
class TenantCounts {
  /** None is 0. */
  readonly #counts = new Map<string, number>();

  /** @returns what takes it out again, to be called once */
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
 * Does long work of tenants in slices. Each turn of the event loop has time for one of them,
 * in turn by tenant, and for all else that came meanwhile: the requests of others wait for
 * one slice, however many long answers are being written. While a tenant without long work has
 * requests under way, there is a pause once each tenant with long work has had a slice.
 */
export class WorkSlices {
  /** Each takes no time while it waits, so none holds more than another. */
  readonly #queue = new FairQueue<string, () => void>(() => 0);
  readonly #requests = new TenantCounts();
  readonly #longWork = new TenantCounts();
  #isScheduled = false;
  #slicesSincePause = 0;

  /**
   * A request of a tenant is under way.
   *
   * @returns what is to be called once at its end
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

/** Of this process, which has one event loop. */
export const workSlices = new WorkSlices();

import { FairQueue } from 'backstage-plugin-catalog-tenancy-node';

/**
 * For how long a piece of work may keep the event loop, in milliseconds. A request goes through
 * the loop some eight times before it is answered, and waits for a slice each time: slices of 5 ms
 * made short reads seven times slower, while long lists took no longer with shorter ones.
 */
const SLICE_MS = 0.2;

/** So little is done at once: each of these takes some ten microseconds. */
const DONE_AT_ONCE = 20;

/**
 * Does long work of tenants in slices. Each turn of the event loop has time for one of them,
 * in turn by tenant, and for all else that came meanwhile: the requests of others wait for
 * one slice, however many long answers are being written.
 */
export class WorkSlices {
  /** Each takes no time while it waits, so none holds more than another. */
  readonly #queue = new FairQueue<string, () => void>(() => 0);
  #isScheduled = false;

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
    while (results.length < items.length) {
      await this.#turn(tenantId);
      const end = performance.now() + SLICE_MS;
      do {
        results.push(change(items[results.length]));
      } while (results.length < items.length && performance.now() < end);
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
    setImmediate(() => {
      this.#isScheduled = false;
      this.#queue.next()?.();
      if (this.#queue.size > 0) {
        this.#schedule();
      }
    });
  }
}

/** Of this process, which has one event loop. */
export const workSlices = new WorkSlices();

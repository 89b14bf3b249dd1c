import type { ReadOptions } from './CatalogStore';
import { Sharing } from './Sharing';

/** What was found, by its ref. No caller may change it: others get the same. */
export type Found<TValue> = ReadonlyMap<string, TValue>;

/** Larger lookups are sent alone: others would wait for them, and gain nothing by it. */
const MOST_REFS_SHARED = 20;

/** With as many, a batch is sent at once. */
const MOST_REFS = 100;

type Send<TValue> = (
  refs: string[],
  options: ReadOptions,
) => Promise<Found<TValue>>;

/** Lookups that are sent together. */
interface Batch<TValue> {
  refs: Set<string>;
  sharing: Sharing<Found<TValue>>;
  send: Send<TValue>;
}

/**
 * Lookups of several callers by refs, which are sent together where they come at the same
 * time. A lookup by a name is planned by PostgreSQL for longer than it runs, and each has a
 * setting and a reset of the tenant around it: one for several callers costs little more.
 *
 * Like `SharedReads`, it is a queue and not a cache. A lookup that comes while one is
 * under way waits for its end, together with all others that wait: so it is always sent
 * after it was asked for, and sees what was committed until then.
 *
 * A caller that has gone waits no longer. Its lookup goes on while a caller is left of those
 * that it was sent together with.
 */
export class SharedLookups<TValue> {
  /** By what has to be equal: what is waiting while a lookup is under way. */
  readonly #waiting = new Map<string, Batch<TValue> | undefined>();

  /** How many lookups of different kinds are under way. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * @param tenantId - nothing is looked up together with what another tenant asks for
   * @param question - what else the answer depends on, as JSON: what the caller may read
   * @param send - looks up the refs of all callers; what it finds may hold more than
   * those of one. Its signal is aborted when all callers have gone
   * @throws what `send` rejects with, as all do whose refs were sent together; the reason of
   * the signal
   */
  read(
    tenantId: string,
    question: unknown,
    refs: readonly string[],
    send: Send<TValue>,
    options: ReadOptions = {},
  ): Promise<Found<TValue>> {
    if (refs.length > MOST_REFS_SHARED) {
      return send([...refs], options);
    }
    const key = JSON.stringify([tenantId, question]);
    if (!this.#waiting.has(key)) {
      const first = createBatch(send, refs);
      const answer = first.sharing.join(options);
      this.#run(key, first);
      return answer;
    }
    const waiting = this.#waiting.get(key);
    // One that all callers have left is never sent.
    const batch = waiting?.sharing.hasCallers ? waiting : createBatch(send);
    refs.forEach(ref => batch.refs.add(ref));
    const answer = batch.sharing.join(options);
    if (batch.refs.size < MOST_REFS) {
      this.#waiting.set(key, batch);
    } else {
      this.#waiting.set(key, undefined);
      void sendBatch(batch);
    }
    return answer;
  }

  #run(key: string, batch: Batch<TValue>): void {
    this.#waiting.set(key, undefined);
    const next = () => {
      const waiting = this.#waiting.get(key);
      if (waiting?.sharing.hasCallers) {
        this.#run(key, waiting);
      } else {
        this.#waiting.delete(key);
      }
    };
    sendBatch(batch).then(next, next);
  }
}

function createBatch<TValue>(
  send: Send<TValue>,
  refs: readonly string[] = [],
): Batch<TValue> {
  return { refs: new Set(refs), sharing: new Sharing(), send };
}

function sendBatch<TValue>({
  refs,
  sharing,
  send,
}: Batch<TValue>): Promise<unknown> {
  return sharing.send(options => send([...refs], options));
}

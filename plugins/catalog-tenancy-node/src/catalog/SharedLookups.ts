/** What was found, by its ref. No caller may change it: others get the same. */
export type Found<TValue> = ReadonlyMap<string, TValue>;

/** Larger lookups are sent alone: others would wait for them, and gain nothing by it. */
const MOST_REFS_SHARED = 20;

/** With as many, a batch is sent at once. */
const MOST_REFS = 100;

type Send<TValue> = (
  refs: string[],
  isAlone: boolean,
) => Promise<Found<TValue>>;

/** Lookups that are sent together. */
interface Batch<TValue> {
  refs: Set<string>;
  answer: Promise<Found<TValue>>;
  send: () => void;
}

/**
 * Lookups of several callers by refs, which are sent together where they come at the same
 * time. A lookup by a name is planned by PostgreSQL for longer than it runs, and each has a
 * setting and a reset of the tenant around it: one for several callers costs little more.
 *
 * Like `SharedReads`, it is a queue and not a cache. A lookup that comes while one is
 * under way waits for its end, together with all others that wait: so it is always sent
 * after it was asked for, and sees what was committed until then.
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
   * those of one. `isAlone` tells that they are those of one
   * @throws what `send` rejects with, as all do whose refs were sent together
   */
  read(
    tenantId: string,
    question: unknown,
    refs: readonly string[],
    send: Send<TValue>,
  ): Promise<Found<TValue>> {
    if (refs.length > MOST_REFS_SHARED) {
      return send([...refs], true);
    }
    const key = JSON.stringify([tenantId, question]);
    if (!this.#waiting.has(key)) {
      const first = createBatch(send, refs);
      this.#run(key, first);
      return first.answer;
    }
    const batch = this.#waiting.get(key) ?? createBatch(send);
    refs.forEach(ref => batch.refs.add(ref));
    if (batch.refs.size < MOST_REFS) {
      this.#waiting.set(key, batch);
    } else {
      this.#waiting.set(key, undefined);
      batch.send();
    }
    return batch.answer;
  }

  #run(key: string, batch: Batch<TValue>): void {
    this.#waiting.set(key, undefined);
    batch.send();
    const next = () => {
      const waiting = this.#waiting.get(key);
      if (waiting) {
        this.#run(key, waiting);
      } else {
        this.#waiting.delete(key);
      }
    };
    batch.answer.then(next, next);
  }
}

function createBatch<TValue>(
  lookUp: Send<TValue>,
  refs: readonly string[] = [],
): Batch<TValue> {
  const all = new Set(refs);
  let send = () => {};
  const answer = new Promise<Found<TValue>>(resolve => {
    // It rejects where the lookup throws, or it would be under way for ever.
    send = () =>
      resolve(new Promise(settle => settle(lookUp([...all], false))));
  });
  return { refs: all, answer, send };
}

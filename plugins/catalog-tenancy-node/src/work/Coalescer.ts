/**
 * How one caller of several waits.
 *
 * @public
 */
export interface CoalescedOptions {
  /** Aborted when the caller has gone. */
  signal?: AbortSignal;
  /** Whether it continues an answer that has begun, and so must not be refused. */
  continues?: boolean;
}

type Send<T> = (refs: string[], options: CoalescedOptions) => Promise<T>;

/** A batch, whatever its answer. */
interface Waiting {
  readonly hasCallers: boolean;
  send(): Promise<unknown>;
}

/** Larger lookups are sent alone: others would wait for them, and gain nothing by it. */
const MOST_REFS_SHARED = 20;

/** With as many, a batch is sent at once. */
const MOST_REFS = 100;

/** What is sent together, and who waits for the answer. It is cancelled when all have gone. */
class Batch<T> {
  readonly #refs = new Set<string>();
  readonly #send: Send<T>;
  readonly #abort = new AbortController();
  readonly #answer: Promise<T>;
  #settle!: (answer: Promise<T>) => void;
  #callers = 0;
  #continues = false;

  constructor(send: Send<T>) {
    this.#send = send;
    this.#answer = new Promise(resolve => {
      this.#settle = resolve;
    });
    // Its callers may all have gone.
    this.#answer.catch(() => undefined);
  }

  get hasCallers(): boolean {
    return this.#callers > 0;
  }

  /** How many refs are looked up. */
  get size(): number {
    return this.#refs.size;
  }

  join(
    refs: readonly string[],
    { signal, continues = false }: CoalescedOptions,
  ): Promise<T> {
    refs.forEach(ref => this.#refs.add(ref));
    this.#callers += 1;
    // Refused, it would break the answer of one of them.
    this.#continues ||= continues;
    return signal ? this.#untilGone(signal) : this.#answer;
  }

  send(): Promise<T> {
    const options = { signal: this.#abort.signal, continues: this.#continues };
    // It rejects where the call throws, or it would be under way for ever.
    this.#settle(
      new Promise(resolve => resolve(this.#send([...this.#refs], options))),
    );
    return this.#answer;
  }

  #untilGone(signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#callers -= 1;
        reject(signal.reason);
        if (this.#callers === 0) {
          this.#abort.abort(signal.reason);
        }
      };
      if (signal.aborted) {
        leave();
        return;
      }
      signal.addEventListener('abort', leave);
      const stay = () => signal.removeEventListener('abort', leave);
      this.#answer.then(stay, stay);
      this.#answer.then(resolve, reject);
    });
  }
}

/**
 * Sends once what several callers ask at the same time.
 *
 * It is a queue of one, not a cache. What comes while the same question is under way waits for
 * its end, and is sent together with all others that wait. So no caller gets an answer from
 * before it asked: each sees what was committed until then, as if it had asked alone.
 *
 * A caller that has gone waits no longer. What it asked goes on while a caller is left of those
 * that it was sent together with.
 *
 * @public
 */
export class Coalescer {
  /** By question: what waits while it is under way. */
  readonly #waiting = new Map<string, Waiting | undefined>();

  /** How many different questions are under way. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Asks a question, together with those who ask the same.
   *
   * @param tenantId - nothing is shared with another tenant
   * @param question - as JSON: equal only for what has the same answer
   * @param send - its signal is aborted when all callers have gone
   * @returns what no caller may change: others get the same
   * @throws what `send` rejects with, as for all who share it; the reason of the signal
   */
  ask<T>(
    tenantId: string,
    question: unknown,
    send: (options: CoalescedOptions) => Promise<T>,
    options: CoalescedOptions = {},
  ): Promise<T> {
    return this.#join(
      JSON.stringify([tenantId, question]),
      [],
      (_refs, shared) => send(shared),
      options,
    );
  }

  /**
   * Looks up refs, together with those who look up other ones. PostgreSQL plans a lookup by
   * name for longer than it runs, and sets and resets the tenant around it: one for several
   * callers costs little more.
   *
   * @param question - what else the answer depends on: what the caller may read
   * @param send - looks up the refs of all callers; a caller may get more than its own
   * @throws as {@link Coalescer.ask}
   */
  lookUp<T>(
    tenantId: string,
    question: unknown,
    refs: readonly string[],
    send: (
      refs: string[],
      options: CoalescedOptions,
    ) => Promise<ReadonlyMap<string, T>>,
    options: CoalescedOptions = {},
  ): Promise<ReadonlyMap<string, T>> {
    return refs.length > MOST_REFS_SHARED
      ? this.ask(
          tenantId,
          [question, refs],
          shared => send([...refs], shared),
          options,
        )
      : this.#join(JSON.stringify([tenantId, question]), refs, send, options);
  }

  #join<T>(
    key: string,
    refs: readonly string[],
    send: Send<T>,
    options: CoalescedOptions,
  ): Promise<T> {
    if (!this.#waiting.has(key)) {
      const first = new Batch(send);
      const answer = first.join(refs, options);
      this.#run(key, first);
      return answer;
    }
    // The same question has answers of the same kind.
    const waiting = this.#waiting.get(key) as Batch<T> | undefined;
    // One that all callers have left is never sent.
    const batch = waiting?.hasCallers ? waiting : new Batch(send);
    const answer = batch.join(refs, options);
    const isFull = batch.size >= MOST_REFS;
    this.#waiting.set(key, isFull ? undefined : batch);
    if (isFull) {
      // Its callers have its failure.
      batch.send().catch(() => undefined);
    }
    return answer;
  }

  #run(key: string, batch: Waiting): void {
    this.#waiting.set(key, undefined);
    const next = () => {
      const waiting = this.#waiting.get(key);
      if (waiting?.hasCallers) {
        this.#run(key, waiting);
      } else {
        this.#waiting.delete(key);
      }
    };
    batch.send().then(next, next);
  }
}

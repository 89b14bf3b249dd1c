/**
 * Options of one caller.
 *
 * @public
 */
export interface CoalescedOptions {
  /** Aborted when the client disconnects. */
  signal?: AbortSignal;
  /** Whether the call continues a response that has begun, and so must not be refused. */
  continues?: boolean;
}

type Send<T> = (refs: string[], options: CoalescedOptions) => Promise<T>;

/** A batch of any result type. */
interface Waiting {
  readonly hasCallers: boolean;
  send(): Promise<unknown>;
}

/** Larger look-ups are sent alone: sharing would delay others without a gain. */
const MOST_REFS_SHARED = 100;

/** A batch of this size is sent at once. */
const MOST_REFS = 200;

/**
 * How long a batch waits for the previous one, in milliseconds. A server that has vanished keeps a
 * query until TCP gives up, while other connections may lead to its successor.
 */
const LONGEST_WAIT_MS = 5_000;

/** A query shared by several callers. It is cancelled when all of them have left. */
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
    // All callers may have left.
    this.#answer.catch(() => undefined);
  }

  get hasCallers(): boolean {
    return this.#callers > 0;
  }

  /** The number of refs. */
  get size(): number {
    return this.#refs.size;
  }

  join(
    refs: readonly string[],
    { signal, continues = false }: CoalescedOptions,
  ): Promise<T> {
    refs.forEach(ref => this.#refs.add(ref));
    this.#callers += 1;
    // A refusal would break the response of that caller.
    this.#continues ||= continues;
    return signal ? this.#untilGone(signal) : this.#answer;
  }

  send(): Promise<T> {
    const options = { signal: this.#abort.signal, continues: this.#continues };
    // Converts a synchronous error to a rejection; the batch would otherwise never end.
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
 * Merges equal concurrent queries of several callers into one.
 *
 * Not a cache: a caller that arrives while an equal query runs waits for its end, or for 5
 * seconds, and is served by the next query, together with all others that wait. So each caller
 * sees everything committed before its call.
 *
 * A caller can leave at any time. Its query continues while other callers share it.
 *
 * @public
 */
export class Coalescer {
  /** By key: the batch that waits while the previous one runs. */
  readonly #waiting = new Map<string, Waiting | undefined>();

  /** The number of different running queries, except those that others wait for no longer. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Runs a query, shared with equal ones.
   *
   * @param tenantId - queries of different tenants are never shared
   * @param question - identifies the query, as JSON; equal questions must have equal results
   * @param send - runs the query; its signal is aborted when all callers have left
   * @returns the result, which is shared and must not be modified
   * @throws the error of `send`, or the reason of the signal
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
   * Looks up refs, merged with look-ups of other refs. Planning a look-up and setting the
   * tenant take longer than running it, so one for several callers costs little more.
   *
   * @param question - identifies what else the result depends on, such as permissions
   * @param send - looks up the refs of all callers; a caller may get more refs than its own
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
    // Equal keys have the same result type.
    const waiting = this.#waiting.get(key) as Batch<T> | undefined;
    // A batch without callers is never sent.
    const batch = waiting?.hasCallers ? waiting : new Batch(send);
    const answer = batch.join(refs, options);
    const isFull = batch.size >= MOST_REFS;
    this.#waiting.set(key, isFull ? undefined : batch);
    if (isFull) {
      // The callers get its error.
      batch.send().catch(() => undefined);
    }
    return answer;
  }

  #run(key: string, batch: Waiting): void {
    this.#waiting.set(key, undefined);
    let timer: NodeJS.Timeout | undefined;
    const next = () => {
      if (!timer) {
        return;
      }
      clearTimeout(timer);
      timer = undefined;
      const waiting = this.#waiting.get(key);
      if (waiting?.hasCallers) {
        this.#run(key, waiting);
      } else {
        this.#waiting.delete(key);
      }
    };
    timer = setTimeout(next, LONGEST_WAIT_MS).unref();
    batch.send().then(next, next);
  }
}

import type { ReadOptions } from './CatalogStore';

/** One read, and who waits for its answer. It is cancelled when all of them have gone. */
export class Sharing<T> {
  readonly #abort = new AbortController();
  readonly #answer: Promise<T>;
  #settle!: (answer: Promise<T>) => void;
  #callers = 0;
  #continues = false;

  constructor() {
    this.#answer = new Promise(resolve => {
      this.#settle = resolve;
    });
    // Its callers may all have gone.
    this.#answer.catch(() => undefined);
  }

  get hasCallers(): boolean {
    return this.#callers > 0;
  }

  /** @throws what the read rejects with; the reason of the signal */
  join({ signal, continues = false }: ReadOptions): Promise<T> {
    this.#callers += 1;
    // Refused, it would break the answer of one of them.
    this.#continues ||= continues;
    return signal ? this.#untilGone(signal) : this.#answer;
  }

  /**
   * Sends the read for all who have joined.
   *
   * @param send - its signal is aborted when all callers have gone
   */
  send(send: (options: ReadOptions) => Promise<T>): Promise<T> {
    const options = {
      signal: this.#abort.signal,
      continues: this.#continues,
    };
    // It rejects where `send` throws, or the read would be under way for ever.
    this.#settle(new Promise(resolve => resolve(send(options))));
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

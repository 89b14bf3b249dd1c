interface Waiting {
  key: string;
  go: () => void;
}

/**
 * Lets a few engines start at a time: hundreds at once would block the thread and each other's
 * statements.
 */
export class StartQueue {
  readonly #max: number;
  #running = 0;
  #waiting: Waiting[] = [];
  /** Also those that come only after what they wait for elsewhere. */
  readonly #hurried = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Runs the work in its turn, or not at all once the signal aborts.
   *
   * @param key - by which {@link StartQueue.hurry} finds it
   * @throws the reason of the signal, or the error of the work
   */
  async run<T>(
    key: string,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    if (this.#running < this.#max) {
      this.#running += 1;
    } else {
      await this.#turn(key, signal);
    }
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      this.#hurried.delete(key);
      this.#leave();
    }
  }

  /** Makes the work with this key the next to run, now or when it comes. */
  hurry(key: string): void {
    this.#hurried.add(key);
    // The others keep their order.
    this.#waiting.sort((a, b) => Number(b.key === key) - Number(a.key === key));
  }

  /** Resolves when a place is free, which is already counted as taken. */
  #turn(key: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { key, go: resolve };
      const onAbort = () => {
        this.#waiting = this.#waiting.filter(each => each !== waiting);
        reject(signal.reason);
      };
      waiting.go = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(waiting);
      if (this.#hurried.has(key)) {
        this.hurry(key);
      }
    });
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next) {
      next.go();
    } else {
      this.#running -= 1;
    }
  }
}

const GAP_MS = 10;

/** A task that is done again and again, one time after the other. */
export class Repeated {
  readonly #task: () => Promise<void>;
  readonly #pauseMs: () => number;
  #timer: NodeJS.Timeout | undefined;
  #due = Infinity;
  #lastEnd = -Infinity;
  #running: Promise<void> | undefined;
  #woken = false;
  #closed = false;

  /**
   * @param task - must not reject
   * @param pauseMs - for how long it rests after each time, unless it is woken
   */
  static start(task: () => Promise<void>, pauseMs: () => number): Repeated {
    const repeated = new Repeated(task, pauseMs);
    repeated.wake();
    return repeated;
  }

  private constructor(task: () => Promise<void>, pauseMs: () => number) {
    this.#task = task;
    this.#pauseMs = pauseMs;
  }

  /** Has it done soon, and from its beginning: again, if it is being done just now. */
  wake(): void {
    if (this.#running) {
      this.#woken = true;
    } else {
      // However often it is woken, it leaves the server some time for others.
      this.#schedule(this.#lastEnd + GAP_MS - performance.now());
    }
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(delayMs: number): void {
    const due = performance.now() + Math.max(0, delayMs);
    if (this.#closed || due >= this.#due) {
      return;
    }
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => this.#run(), Math.max(0, delayMs)).unref();
  }

  #run(): void {
    this.#due = Infinity;
    this.#woken = false;
    this.#running = this.#task().then(() => {
      this.#running = undefined;
      this.#lastEnd = performance.now();
      this.#schedule(this.#woken ? GAP_MS : this.#pauseMs());
    });
  }
}

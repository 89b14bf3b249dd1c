/**
 * Runs work once at a time, and once more after a request during a run. When a request
 * resolves, every change from before it is in effect.
 */
export class CoalescedRefresh {
  readonly #work: () => Promise<void>;
  readonly #mayRun: () => boolean;
  #isWanted = false;
  #running?: Promise<void>;

  /** @param mayRun - while it returns `false`, a request is only kept */
  constructor(work: () => Promise<void>, mayRun: () => boolean) {
    this.#work = work;
    this.#mayRun = mayRun;
  }

  /** Whether another run is needed: after a request during a run, or after a failure. */
  get isWanted(): boolean {
    return this.#isWanted;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** @throws the error of the work */
  async request(): Promise<void> {
    this.#isWanted = true;
    // A request may come after the last run, while that still counts as under way.
    do {
      this.#running ??= this.#runWhileWanted().finally(() => {
        this.#running = undefined;
      });
      await this.#running;
    } while (this.#running || (this.#isWanted && this.#mayRun()));
  }

  /** Resolves when no run is under way. */
  async ended(): Promise<void> {
    await this.#running?.catch(() => undefined);
  }

  async #runWhileWanted(): Promise<void> {
    while (this.#isWanted && this.#mayRun()) {
      this.#isWanted = false;
      try {
        await this.#work();
      } catch (error) {
        this.#isWanted = true;
        throw error;
      }
    }
  }
}

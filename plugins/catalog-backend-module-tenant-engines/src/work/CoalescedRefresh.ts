/**
 * Work that is done once at a time, and once more where it was asked for meanwhile: whatever had
 * changed before a request is in effect when that resolves.
 */
export class CoalescedRefresh {
  readonly #work: () => Promise<void>;
  readonly #mayRun: () => boolean;
  #isWanted = false;
  #running?: Promise<void>;

  /** @param mayRun - while it says no, requests do nothing but remain */
  constructor(work: () => Promise<void>, mayRun: () => boolean) {
    this.#work = work;
    this.#mayRun = mayRun;
  }

  /** Whether it is to be done once more: it was asked for meanwhile, or has failed. */
  get isWanted(): boolean {
    return this.#isWanted;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** @throws what the work throws */
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

  /** Resolves when nothing of it is under way. */
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

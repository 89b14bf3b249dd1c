/** How long it takes from some moment on until clients are answered. */
export class Recovery {
  /** Milliseconds until one of them was. */
  first?: number;
  /** Milliseconds until each of them was. */
  all?: number;
  /** Resolves once all were answered. */
  readonly complete: Promise<void>;

  readonly #start = performance.now();
  readonly #missing: Set<number>;
  #onComplete: () => void = () => undefined;

  constructor(clients: number) {
    this.#missing = new Set(Array.from({ length: clients }, (_, id) => id));
    this.complete = new Promise(resolve => {
      this.#onComplete = resolve;
    });
  }

  countAnswer(client: number): void {
    const elapsed = performance.now() - this.#start;
    this.first ??= elapsed;
    this.#missing.delete(client);
    if (this.#missing.size === 0) {
      this.all ??= elapsed;
      this.#onComplete();
    }
  }
}

/** Counts what became of the requests of some clients. */
export class Tally {
  answered = 0;
  readonly refused = new Map<number, number>();
  /** What must not have happened. */
  readonly failures: string[] = [];
  /** The longest time for which nobody was answered, in milliseconds. */
  longestGap = 0;

  readonly #clients: number;
  readonly #waiting = new Set<Recovery>();
  #lastAnswer = performance.now();

  constructor(clients: number) {
    this.#clients = clients;
  }

  get requests(): number {
    return this.answered + this.refusals + this.failures.length;
  }

  get refusals(): number {
    return [...this.refused.values()].reduce((sum, count) => sum + count, 0);
  }

  countAnswer(client: number): void {
    this.answered += 1;
    this.close();
    this.#waiting.forEach(recovery => recovery.countAnswer(client));
  }

  countRefusal(status: number): void {
    this.refused.set(status, (this.refused.get(status) ?? 0) + 1);
  }

  countFailure(reason: string): void {
    this.failures.push(reason);
  }

  /** Takes the time since the last answer into account. */
  close(): void {
    const now = performance.now();
    this.longestGap = Math.max(this.longestGap, now - this.#lastAnswer);
    this.#lastAnswer = now;
  }

  /** Watches how clients are answered from now on. */
  watchRecovery(): Recovery {
    const recovery = new Recovery(this.#clients);
    this.#waiting.add(recovery);
    return recovery;
  }
}

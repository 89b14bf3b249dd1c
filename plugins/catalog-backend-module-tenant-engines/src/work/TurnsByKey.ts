import { AsyncLocalStorage } from 'node:async_hooks';
import createLimit, { type Limit } from 'p-limit';

/**
 * Runs work of the same key one after the other, or so many at a time, and of different keys at the
 * same time.
 */
export class TurnsByKey {
  readonly #limits = new Map<string, Limit>();

  constructor(private readonly atATime: number = 1) {}

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const turns = this.#limits.get(key) ?? createLimit(this.atATime);
    this.#limits.set(key, turns);
    try {
      // p-limit starts it in the async context of the work that ended before it.
      return await turns(AsyncLocalStorage.bind(work));
    } finally {
      if (turns.activeCount + turns.pendingCount === 0) {
        this.#limits.delete(key);
      }
    }
  }
}

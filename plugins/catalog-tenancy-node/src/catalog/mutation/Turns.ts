/**
 * Lets whoever has the same key work one after the other, in the order in which they
 * came.
 */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const result = (async () => {
      await before;
      return await work();
    })();
    const over = result.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, over);
    try {
      return await result;
    } finally {
      if (this.#last.get(key) === over) {
        this.#last.delete(key);
      }
    }
  }
}

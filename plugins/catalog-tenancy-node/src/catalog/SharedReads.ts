/** Rows that several callers get, and that none of them may change therefore. */
export type SharedRows<TRow extends object> = readonly Readonly<TRow>[];

interface Read {
  /** Of what is under way. */
  answer: Promise<SharedRows<object>>;
  /** Of what is sent once that has been answered. */
  next?: Promise<SharedRows<object>>;
}

/**
 * Reads that several callers ask for at once, and that are sent once for all of them.
 *
 * It is a queue of one, not a cache. No caller gets the answer to a read that was sent
 * before it asked: a caller that comes while a read is under way waits for its end, and
 * shares the next read with all others that wait. So each sees what was committed before it asked, as
 * if it had asked alone.
 */
export class SharedReads {
  readonly #reads = new Map<string, Read>();

  /** How many different reads are under way or wait. */
  get size(): number {
    return this.#reads.size;
  }

  /**
   * @param tenantId - no read is shared with another tenant
   * @param question - what is asked of the tenant, as JSON: equal only for reads that
   * have the same answer
   * @throws what `send` rejects with, as all do who share it
   */
  read<TRow extends object>(
    tenantId: string,
    question: readonly unknown[],
    send: () => Promise<TRow[]>,
  ): Promise<SharedRows<TRow>> {
    const key = JSON.stringify([tenantId, ...question]);
    const read = this.#reads.get(key);
    if (!read) {
      return this.#send(key, send);
    }
    const again = () => this.#send(key, send);
    read.next ??= read.answer.then(again, again);
    // The same question has rows of the same kind.
    return read.next as Promise<SharedRows<TRow>>;
  }

  #send<TRow extends object>(
    key: string,
    send: () => Promise<TRow[]>,
  ): Promise<SharedRows<TRow>> {
    // It rejects where `send` throws, or the read would be under way for ever.
    const answer = new Promise<SharedRows<TRow>>(resolve => resolve(send()));
    const read: Read = { answer };
    this.#reads.set(key, read);
    // Called before the next one is sent, which takes its place.
    const settle = () => {
      if (!read.next) {
        this.#reads.delete(key);
      }
    };
    answer.then(settle, settle);
    return answer;
  }
}

import type { ReadOptions } from './CatalogStore';
import { Sharing } from './Sharing';

/** Rows that several callers get, and that none of them may change therefore. */
export type SharedRows<TRow extends object> = readonly Readonly<TRow>[];

type Send<TRow extends object> = (options: ReadOptions) => Promise<TRow[]>;

interface Read {
  /** Of what is under way. */
  underWay: Sharing<SharedRows<object>>;
  /** Who waits for the end of it, to share the next one. */
  next?: Sharing<SharedRows<object>>;
}

/**
 * Reads that several callers ask for at once, and that are sent once for all of them.
 *
 * It is a queue of one, not a cache. No caller gets the answer to a read that was sent
 * before it asked: a caller that comes while a read is under way waits for its end, and
 * shares the next read with all others that wait. So each sees what was committed before it asked, as
 * if it had asked alone.
 *
 * A caller that has gone waits no longer. The read goes on while one of its callers is left.
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
   * @param send - its signal is aborted when all callers have gone
   * @throws what `send` rejects with, as all do who share it; the reason of the signal
   */
  read<TRow extends object>(
    tenantId: string,
    question: readonly unknown[],
    send: Send<TRow>,
    options: ReadOptions = {},
  ): Promise<SharedRows<TRow>> {
    const key = JSON.stringify([tenantId, ...question]);
    const read = this.#reads.get(key);
    if (!read) {
      const underWay = new Sharing<SharedRows<object>>();
      const answer = underWay.join(options);
      this.#send(key, { underWay }, send);
      return answer as Promise<SharedRows<TRow>>;
    }
    // One that all callers have left is cancelled.
    if (!read.next?.hasCallers) {
      read.next = new Sharing();
    }
    // The same question has rows of the same kind.
    return read.next.join(options) as Promise<SharedRows<TRow>>;
  }

  #send<TRow extends object>(key: string, read: Read, send: Send<TRow>): void {
    this.#reads.set(key, read);
    // Called before the next one is sent, which takes its place.
    const settle = () => {
      const { next } = read;
      if (next?.hasCallers) {
        this.#send(key, { underWay: next }, send);
      } else {
        this.#reads.delete(key);
      }
    };
    read.underWay.send(send).then(settle, settle);
  }
}

/**
 * A queue for several equal resources that is fair to owners.
 *
 * The next item is that of the owner that holds the fewest resources; among equals, the owner
 * that was served least recently. The number of an owner's waiting items does not count. Items
 * of one owner stay in order.
 *
 * @public
 */
export class FairQueue<TOwner, TItem> {
  readonly #held: (owner: TOwner) => number;
  /** The least recently served owner first. No queue is empty. */
  readonly #queues = new Map<TOwner, TItem[]>();
  #size = 0;

  /** @param held - how many resources an owner holds */
  constructor(held: (owner: TOwner) => number) {
    this.#held = held;
  }

  /** The number of waiting items. */
  get size(): number {
    return this.#size;
  }

  /** The number of an owner's waiting items. */
  sizeOf(owner: TOwner): number {
    return this.#queues.get(owner)?.length ?? 0;
  }

  /** Adds an item behind the others of its owner. */
  add(owner: TOwner, item: TItem): void {
    const queue = this.#queues.get(owner);
    if (queue) {
      queue.push(item);
    } else {
      this.#queues.set(owner, [item]);
    }
    this.#size += 1;
  }

  /** Removes an item. Returns false if it was not in the queue. */
  remove(owner: TOwner, item: TItem): boolean {
    const queue = this.#queues.get(owner);
    const index = queue?.indexOf(item) ?? -1;
    if (!queue || index < 0) {
      return false;
    }
    queue.splice(index, 1);
    if (queue.length === 0) {
      this.#queues.delete(owner);
    }
    this.#size -= 1;
    return true;
  }

  /**
   * Removes and returns the next item.
   *
   * @param mayTake - whether an owner may get a resource; always by default
   */
  next(mayTake: (owner: TOwner) => boolean = () => true): TItem | undefined {
    let least: { owner: TOwner; held: number } | undefined;
    for (const owner of this.#queues.keys()) {
      const held = this.#held(owner);
      if ((!least || held < least.held) && mayTake(owner)) {
        least = { owner, held };
      }
    }
    const queue = least && this.#queues.get(least.owner);
    if (!least || !queue) {
      return undefined;
    }
    const [item] = queue.splice(0, 1);
    // Moves the owner behind all others.
    this.#queues.delete(least.owner);
    if (queue.length > 0) {
      this.#queues.set(least.owner, queue);
    }
    this.#size -= 1;
    return item;
  }

  /** Removes and returns all items. */
  clear(): TItem[] {
    const items = [...this.#queues.values()].flat();
    this.#queues.clear();
    this.#size = 0;
    return items;
  }
}

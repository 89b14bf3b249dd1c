/**
 * What waits for one of several equal things, in turn by owner.
 *
 * The next one belongs to the owner that holds the fewest, and among equals to the one that
 * has waited longest for its turn, whatever the number that each has in the queue. Those of
 * one owner keep their order.
 *
 * @public
 */
export class FairQueue<TOwner, TItem> {
  readonly #held: (owner: TOwner) => number;
  /** In the order of their turns. None is empty. */
  readonly #queues = new Map<TOwner, TItem[]>();
  #size = 0;

  /** @param held - how many an owner holds */
  constructor(held: (owner: TOwner) => number) {
    this.#held = held;
  }

  /** How many wait. */
  get size(): number {
    return this.#size;
  }

  /** How many of one owner wait. */
  sizeOf(owner: TOwner): number {
    return this.#queues.get(owner)?.length ?? 0;
  }

  /** Adds one, behind the others of its owner. */
  add(owner: TOwner, item: TItem): void {
    const queue = this.#queues.get(owner);
    if (queue) {
      queue.push(item);
    } else {
      this.#queues.set(owner, [item]);
    }
    this.#size += 1;
  }

  /** Takes one out that waits no longer. Returns whether it was there. */
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
   * Takes the next one out.
   *
   * @param mayTake - whether an owner may get one at all; all may by default
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
    // Its next turn comes after those of the others.
    this.#queues.delete(least.owner);
    if (queue.length > 0) {
      this.#queues.set(least.owner, queue);
    }
    this.#size -= 1;
    return item;
  }

  /** Takes all out. */
  clear(): TItem[] {
    const items = [...this.#queues.values()].flat();
    this.#queues.clear();
    this.#size = 0;
    return items;
  }
}

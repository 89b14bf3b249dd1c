/**
 * A seeded source of random choices (mulberry32): the seed that a failed run prints
 * repeats its choices.
 *
 * @public
 */
export class Random {
  constructor(private state: number) {}

  /** At least 0, below 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) % 0x100000000;
    // eslint-disable-next-line no-bitwise
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    // eslint-disable-next-line no-bitwise
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    // eslint-disable-next-line no-bitwise
    return ((t ^ (t >>> 14)) >>> 0) / 0x100000000;
  }

  /** An integer, at least 0, below `bound`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }

  /** Between none and `most` elements of a list, each at most once. */
  some<T>(list: readonly T[], most: number): T[] {
    const picked = new Set<T>();
    for (let count = this.below(most + 1); count > 0; count -= 1) {
      picked.add(this.pick(list));
    }
    return [...picked];
  }

  /** `count` elements of a list, each at most once; all of a shorter list. */
  sample<T>(list: readonly T[], count: number): T[] {
    const rest = [...list];
    const picked: T[] = [];
    while (picked.length < count && rest.length > 0) {
      picked.push(...rest.splice(this.below(rest.length), 1));
    }
    return picked;
  }

  /** An element of a list, with a probability in proportion to its weight. */
  weighted<T extends { weight: number }>(list: readonly T[]): T {
    let left =
      this.next() * list.reduce((total, { weight }) => total + weight, 0);
    return (
      list.find(({ weight }) => {
        left -= weight;
        return left < 0;
      }) ?? list[list.length - 1]
    );
  }

  /** A UUID of version 4. */
  uuid(): string {
    const hex = Array.from({ length: 32 }, () => this.below(16).toString(16));
    hex[12] = '4';
    hex[16] = this.pick(['8', '9', 'a', 'b']);
    return hex
      .join('')
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  }
}

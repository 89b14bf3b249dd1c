// In a test, each look-up of a global passes through Jest's sandbox: it took `next` most of
// its time.
const { floor, imul } = Math;

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
    return this.bits() / 0x100000000;
  }

  /** An integer, at least 0, below `bound`. */
  below(bound: number): number {
    return floor(this.next() * bound);
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

  /** As many random hexadecimal digits. */
  hex(length: number): string {
    let digits = '';
    while (digits.length < length) {
      digits += this.bits().toString(16).padStart(8, '0');
    }
    return digits.slice(0, length);
  }

  /** A UUID of version 4. */
  uuid(): string {
    const digits = this.hex(32);
    const variant = this.pick(['8', '9', 'a', 'b']);
    return [
      digits.slice(0, 8),
      digits.slice(8, 12),
      `4${digits.slice(13, 16)}`,
      `${variant}${digits.slice(17, 20)}`,
      digits.slice(20),
    ].join('-');
  }

  /** 32 bits, as a number that is not negative. */
  private bits(): number {
    // eslint-disable-next-line no-bitwise
    this.state = (this.state + 0x6d2b79f5) | 0;
    // eslint-disable-next-line no-bitwise
    let t = imul(this.state ^ (this.state >>> 15), 1 | this.state);
    // eslint-disable-next-line no-bitwise
    t = (t + imul(t ^ (t >>> 7), 61 | t)) ^ t;
    // eslint-disable-next-line no-bitwise
    return (t ^ (t >>> 14)) >>> 0;
  }
}

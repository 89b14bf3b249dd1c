/**
 * What may be stored after changes, each of which has a higher number than the last: as
 * much is known as the answers tell.
 */
export class Possibilities {
  #versions: number[];
  #highest: number;

  constructor(version: number) {
    this.#versions = [version];
    this.#highest = version;
  }

  /** The number of the next change. */
  get next(): number {
    return this.#highest + 1;
  }

  /** A change was answered, or refused. */
  changed(outcome: 'made' | 'not made' | 'unknown'): void {
    const version = this.next;
    this.#highest = version;
    if (outcome === 'made') {
      this.#versions = [version];
    } else if (outcome === 'unknown') {
      this.#versions.push(version);
    }
  }

  /**
   * Whether what was read may be stored. From then on, nothing older may be: a change
   * of which nobody knows may still be on its way, but none is taken back.
   */
  seen(version: number): boolean {
    const possible = this.#versions.includes(version);
    this.#versions = possible
      ? this.#versions.filter(other => other >= version)
      : [version];
    return possible;
  }

  toString(): string {
    return this.#versions.join(' or ');
  }
}

/** One statement of a writer, and how long it took. */
export interface Wait {
  ms: number;
  /** What the statement did. */
  what: string;
  writer: string;
  /** What went on meanwhile, such as the phase of the migration. */
  during: string;
  /** Whether writers contend for the row, so that it may have waited for one. */
  shared: boolean;
}

const SHOWN = 10;

/** How long the writers' statements took: to be reported, never asserted. */
export class Waits {
  /** What goes on at this moment. */
  during = 'before';
  private readonly waits: Wait[] = [];

  add(wait: Omit<Wait, 'during'>): void {
    this.waits.push({ ...wait, during: this.during });
  }

  /** The statements on rows that only one writer touches, slowest first. */
  longest(count = SHOWN): Wait[] {
    return this.waits
      .filter(({ shared }) => !shared)
      .sort((a, b) => b.ms - a.ms)
      .slice(0, count);
  }

  /** Lines for people: percentiles per phase, then the longest waits. */
  summary(): string {
    const labels = [...new Set(this.waits.map(({ during }) => during))];
    return [
      ...labels.map(label => this.percentiles(label)),
      'longest waits:',
      ...this.longest().map(
        ({ ms, what, writer, during }) =>
          `  ${ms.toFixed(1)} ms: ${what} of ${writer} during ${during}`,
      ),
    ].join('\n');
  }

  private percentiles(label: string): string {
    const sorted = this.waits
      .filter(({ during, shared }) => during === label && !shared)
      .map(({ ms }) => ms)
      .sort((a, b) => a - b);
    const at = (share: number) =>
      sorted.length === 0
        ? 'none'
        : sorted[
            Math.min(sorted.length - 1, Math.floor(sorted.length * share))
          ].toFixed(1);
    return (
      `${label}: ${sorted.length} statements, 50% ${at(0.5)} ms, ` +
      `99% ${at(0.99)} ms, longest ${at(1)} ms`
    );
  }
}

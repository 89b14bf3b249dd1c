import type { RecordableHistogram } from 'node:perf_hooks';

export const NANOSECONDS_PER_MS = 1e6;

/** How long something kept those waiting who wanted to go on. */
export interface Waits {
  what: string;
  /** How many waits there were. */
  count: number;
  /** In milliseconds, as are the others. */
  p50: number;
  p99: number;
  /** The longest. */
  p100: number;
  /** How many failed instead of waiting. */
  failed: number;
  /** What `p99` is to be at most. Without one, it is reported only. */
  target?: number;
  /** Whether it is, and nothing failed. */
  met?: boolean;
}

/** How long something took. */
export interface Duration {
  what: string;
  seconds: number;
  /** What is said about it elsewhere, to be read beside it. */
  expected: string;
}

/** Sums up waits that a histogram has, in nanoseconds. */
export function waitsOf(
  what: string,
  histogram: RecordableHistogram,
  failed = 0,
): Waits {
  const percentile = (share: number) =>
    histogram.count === 0
      ? 0
      : histogram.percentile(share) / NANOSECONDS_PER_MS;
  return {
    what,
    count: histogram.count,
    p50: percentile(50),
    p99: percentile(99),
    p100: histogram.count === 0 ? 0 : histogram.max / NANOSECONDS_PER_MS,
    failed,
  };
}

/** Sums up a few waits, in milliseconds, each of which counts. */
export function waitsOfEach(what: string, values: number[], failed = 0): Waits {
  const sorted = values.toSorted((a, b) => a - b);
  // The nearest rank: one that was measured, and never less than the share.
  const percentile = (share: number) =>
    sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] ?? 0;
  return {
    what,
    count: sorted.length,
    p50: percentile(0.5),
    p99: percentile(0.99),
    p100: percentile(1),
    failed,
  };
}

/** Judges waits by what one in a hundred may exceed. */
export function judge(waits: Waits, target: number): Waits {
  return {
    ...waits,
    target,
    met: waits.count > 0 && waits.p99 <= target && waits.failed === 0,
  };
}

/** Adds a wait to a histogram, which counts in whole nanoseconds. */
export function recordMs(histogram: RecordableHistogram, ms: number): void {
  histogram.record(Math.max(1, Math.round(ms * NANOSECONDS_PER_MS)));
}

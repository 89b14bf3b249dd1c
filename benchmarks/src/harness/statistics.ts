/** The middle of several values, and how far apart they lie. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/**
 * The median with the smallest and the largest value. The median, because one
 * round that something else on the machine disturbed must not move the result.
 */
export function spreadOf(values: number[]): Spread {
  if (values.length === 0) {
    throw new Error('There is no median of no values');
  }
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return {
    median: (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2,
    min: sorted[0],
    max: sorted[sorted.length - 1],
  };
}

/**
 * The ratio of each pair of values that were measured one after the other.
 * Dividing within pairs, and not one average by the other, takes out whatever
 * made the machine as a whole faster or slower in the course of a run.
 */
export function ratiosOf(ours: number[], alternative: number[]): number[] {
  if (ours.length !== alternative.length) {
    throw new Error('Each measurement of ours needs one of the alternative');
  }
  return ours.map((value, round) => value / alternative[round]);
}

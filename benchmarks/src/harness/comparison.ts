/** What one round of one side came to. */
export interface Measurement {
  /** Requests that were answered, or rows that were written. */
  count: number;
  perSecond: number;
  /** Median latency in milliseconds. */
  p50?: number;
  /** The latency in milliseconds that one request of a hundred exceeds. */
  p99?: number;
}

/** One side of a comparison. */
export interface Side {
  name: string;
  /** Medians over all rounds. */
  perSecond: Spread;
  p50?: Spread;
  p99?: Spread;
  rounds: Measurement[];
}

/** How our throughput compares with that of the alternative. */
export interface Comparison {
  what: string;
  /** What is counted. */
  unit: 'req' | 'rows' | 'entities' | 'pages';
  ours: Side;
  alternative: Side;
  /** Our throughput over that of the alternative, by pair of rounds. */
  ratio: Spread;
  /** Our median latency over that of the alternative, by pair of rounds. */
  latencyRatio?: Spread;
  /** What the ratio is to be at least. Without one, it is reported only. */
  target?: number;
  /** Whether the median reaches the target. */
  met?: boolean;
}

/** Compares two sides that were measured in turn. */
export function compare(options: {
  what: string;
  unit?: Comparison['unit'];
  ours: { name: string; rounds: Measurement[] };
  alternative: { name: string; rounds: Measurement[] };
  target?: number;
}): Comparison {
  const { what, unit = 'req', ours, alternative, target } = options;
  const ratio = spreadOf(
    ratiosOf(
      ours.rounds.map(round => round.perSecond),
      alternative.rounds.map(round => round.perSecond),
    ),
  );
  return {
    what,
    unit,
    ours: summarize(ours),
    alternative: summarize(alternative),
    ratio,
    ...latencyRatio(ours.rounds, alternative.rounds),
    ...(target !== undefined && { target, met: ratio.median >= target }),
  };
}

function summarize({
  name,
  rounds,
}: {
  name: string;
  rounds: Measurement[];
}): Side {
  return {
    name,
    perSecond: spreadOf(rounds.map(({ perSecond }) => perSecond)),
    ...latency(rounds, 'p50'),
    ...latency(rounds, 'p99'),
    rounds,
  };
}

function latencyRatio(
  ours: Measurement[],
  alternative: Measurement[],
): { latencyRatio?: Spread } {
  const [a, b] = [ours, alternative].map(rounds =>
    rounds.flatMap(({ p50 }) => p50 ?? []),
  );
  return a.length === ours.length && b.length === alternative.length
    ? { latencyRatio: spreadOf(ratiosOf(a, b)) }
    : {};
}

function latency<Field extends 'p50' | 'p99'>(
  rounds: Measurement[],
  field: Field,
): { [name in Field]?: Spread } {
  const values = rounds.flatMap(round => round[field] ?? []);
  return values.length > 0
    ? ({ [field]: spreadOf(values) } as { [name in Field]: Spread })
    : {};
}

/** Something that is measured, round by round. */
export interface Contestant {
  name: string;
  measure(seconds: number): Promise<Measurement>;
}

// Caches fill, connections open, and V8 compiles what is called often.
const WARM_UP_ROUNDS = 3;

/**
 * Measures contestants in turn, A B A B …, so that whatever else the machine
 * does hits all of them alike. Many short rounds serve that better than a few
 * long ones.
 *
 * @returns The measurements of each contestant by round, in the order in which
 * the contestants were given.
 */
export async function measureInTurn(
  contestants: Contestant[],
  options: { rounds: number; seconds: number },
): Promise<Measurement[][]> {
  const { rounds, seconds } = options;
  for (const contestant of contestants) {
    await contestant.measure(WARM_UP_ROUNDS * seconds);
  }

  const measurements: Measurement[][] = contestants.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, contestant] of contestants.entries()) {
      measurements[index].push(await contestant.measure(seconds));
    }
  }
  return measurements;
}

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

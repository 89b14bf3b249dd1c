/** What one round of one side came to. */
export interface Measurement {
  /** How many requests were answered, or entities served. */
  count: number;
  perSecond: number;
  /** Median latency in milliseconds. */
  p50?: number;
  /** The latency in milliseconds that one request of a hundred exceeds. */
  p99?: number;
}

/** Something that is measured, round by round. */
export interface Contestant {
  name: string;
  measure(seconds: number): Promise<Measurement>;
}

/** The rounds of one contestant. */
export interface Measured {
  name: string;
  rounds: Measurement[];
}

/** One side of a comparison. */
export interface Side extends Measured {
  perSecond: Spread;
  p50?: Spread;
  p99?: Spread;
}

/** How our throughput compares with that of the alternative. */
export interface Comparison {
  what: string;
  /** What is counted. */
  unit: 'req' | 'entities' | 'pages';
  ours: Side;
  alternative: Side;
  /** Our throughput over that of the alternative, by pair of rounds. */
  ratio: Spread;
  /** The least ratio that was promised, if any. */
  target?: number;
  /** Whether the median reaches the target. */
  met?: boolean;
}

/** Compares two sides that were measured in turn. */
export function compare(options: {
  what: string;
  unit?: Comparison['unit'];
  ours: Measured;
  alternative: Measured;
  target?: number;
}): Comparison {
  const { what, unit = 'req', ours, alternative, target } = options;
  const ratio = ratioOf(ours, alternative);
  return {
    what,
    unit,
    ours: summarize(ours),
    alternative: summarize(alternative),
    ratio,
    ...(target !== undefined && { target, met: ratio.median >= target }),
  };
}

function summarize({ name, rounds }: Measured): Side {
  const latency = (field: 'p50' | 'p99') => {
    const values = rounds.flatMap(round => round[field] ?? []);
    return values.length > 0 ? { [field]: spreadOf(values) } : {};
  };
  return {
    name,
    perSecond: spreadOf(rounds.map(({ perSecond }) => perSecond)),
    ...latency('p50'),
    ...latency('p99'),
    rounds,
  };
}

/**
 * The ratio of the throughput, by pair of rounds. Dividing within pairs takes out what made the
 * machine as a whole faster or slower in the course of a run.
 */
function ratioOf(ours: Measured, alternative: Measured): Spread {
  if (ours.rounds.length !== alternative.rounds.length) {
    throw new Error('Each round of ours needs one of the alternative');
  }
  return spreadOf(
    ours.rounds.map(
      ({ perSecond }, index) => perSecond / alternative.rounds[index].perSecond,
    ),
  );
}

// Caches fill, connections open, and V8 compiles what is called often.
const WARM_UP_ROUNDS = 3;

/**
 * Measures contestants in turn, A B A B …, so that other work on the machine disturbs all of
 * them alike.
 */
export async function measureInTurn(
  contestants: Contestant[],
  options: { rounds: number; seconds: number },
): Promise<Measured[]> {
  for (const contestant of contestants) {
    await contestant.measure(WARM_UP_ROUNDS * options.seconds);
  }
  const measured: Measured[] = contestants.map(({ name }) => ({
    name,
    rounds: [],
  }));
  for (let round = 0; round < options.rounds; round++) {
    for (const [index, contestant] of contestants.entries()) {
      measured[index].rounds.push(await contestant.measure(options.seconds));
    }
  }
  return measured;
}

/** The middle of several values, and how far apart they lie. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** The median, which a single disturbed round does not move, with the extremes. */
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

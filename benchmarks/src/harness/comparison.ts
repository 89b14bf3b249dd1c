import { ratiosOf, type Spread, spreadOf } from './statistics';

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
  unit: 'req' | 'rows' | 'entities';
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

import type { Measurement } from './load';
import { ratiosOf, type Spread, spreadOf } from './statistics';

/** One side of a comparison. */
export interface Side {
  name: string;
  /** Medians over all rounds. */
  requestsPerSecond: Spread;
  p50: Spread;
  p99: Spread;
  rounds: Measurement[];
}

/** How our throughput compares with that of the alternative. */
export interface Comparison {
  what: string;
  ours: Side;
  alternative: Side;
  /** Our throughput over that of the alternative, by pair of rounds. */
  ratio: Spread;
  /** What the ratio is to be at least. Without one, it is reported only. */
  target?: number;
  /** Whether the median reaches the target. */
  met?: boolean;
}

/** Compares two sides that were measured in turn. */
export function compare(options: {
  what: string;
  ours: { name: string; rounds: Measurement[] };
  alternative: { name: string; rounds: Measurement[] };
  target?: number;
}): Comparison {
  const { what, ours, alternative, target } = options;
  const ratio = spreadOf(
    ratiosOf(
      ours.rounds.map(round => round.requestsPerSecond),
      alternative.rounds.map(round => round.requestsPerSecond),
    ),
  );
  return {
    what,
    ours: summarize(ours),
    alternative: summarize(alternative),
    ratio,
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
  const spread = (field: keyof Measurement) =>
    spreadOf(rounds.map(round => round[field]));
  return {
    name,
    requestsPerSecond: spread('requestsPerSecond'),
    p50: spread('p50'),
    p99: spread('p99'),
    rounds,
  };
}

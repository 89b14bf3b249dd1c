import { compare } from './comparison';
import type { Measurement } from './load';

const round = (requestsPerSecond: number): Measurement => ({
  requests: 100,
  requestsPerSecond,
  p50: 1000 / requestsPerSecond,
  p99: 2000 / requestsPerSecond,
});

const compareRounds = (ours: number[], plain: number[], target?: number) =>
  compare({
    what: 'reads',
    ours: { name: 'ours', rounds: ours.map(round) },
    alternative: { name: 'plain', rounds: plain.map(round) },
    target,
  });

describe('compare', () => {
  it('takes the median of the ratios of pairs, not the ratio of medians', () => {
    // The machine got faster in the middle of the run.
    const { ratio } = compareRounds([80, 160, 170], [100, 200, 200]);
    expect(ratio).toEqual({ median: 0.8, min: 0.8, max: 0.85 });
  });

  it('sums up each side by medians', () => {
    const { ours, alternative } = compareRounds([100, 300, 200], [50, 40, 60]);
    expect(ours).toMatchObject({
      name: 'ours',
      requestsPerSecond: { median: 200, min: 100, max: 300 },
      p50: { median: 5 },
      p99: { median: 10 },
    });
    expect(ours.rounds).toHaveLength(3);
    expect(alternative.requestsPerSecond.median).toBe(50);
  });

  it.each([
    [70, true],
    [69, false],
  ])('judges %d of 100 by a target of 0.7: %s', (ours, met) => {
    expect(compareRounds([ours], [100], 0.7)).toMatchObject({
      target: 0.7,
      met,
    });
  });

  it('does not judge without a target', () => {
    expect(compareRounds([1], [100])).not.toHaveProperty('met');
  });
});

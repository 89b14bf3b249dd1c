import {
  compare,
  measureInTurn,
  type Measurement,
  spreadOf,
} from './comparison';

const round = (perSecond: number): Measurement => ({
  count: 100,
  perSecond,
  p50: 1000 / perSecond,
  p99: 2000 / perSecond,
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
      perSecond: { median: 200, min: 100, max: 300 },
      p50: { median: 5 },
      p99: { median: 10 },
    });
    expect(ours.rounds).toHaveLength(3);
    expect(alternative.perSecond.median).toBe(50);
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
});

it('measures contestants in turn, after they have warmed up', async () => {
  const calls: string[] = [];
  const contestant = (name: string) => ({
    name,
    async measure(seconds: number) {
      calls.push(`${name}${seconds}`);
      return { count: calls.length, perSecond: 1 };
    },
  });

  const measured = await measureInTurn([contestant('A'), contestant('B')], {
    rounds: 2,
    seconds: 3,
  });

  expect(calls.join(' ')).toBe('A9 B9 A3 B3 A3 B3');
  expect(measured.map(({ rounds }) => rounds.map(r => r.count))).toEqual([
    [3, 5],
    [4, 6],
  ]);
});

describe('spreadOf', () => {
  it('refuses to make something of nothing', () => {
    expect(() => spreadOf([])).toThrow('no values');
  });
});

it('divides within pairs of rounds, and refuses one without a partner', () => {
  const side = (...values: number[]) => ({
    name: 'side',
    rounds: values.map(perSecond => ({ count: 1, perSecond })),
  });
  const ratioOf = (ours: number[], alternative: number[]) =>
    compare({
      what: 'ratio',
      ours: side(...ours),
      alternative: side(...alternative),
    }).ratio;
  expect(ratioOf([50, 90, 20], [100, 100, 10])).toEqual({
    median: 0.9,
    min: 0.5,
    max: 2,
  });
  expect(() => ratioOf([1, 2], [1])).toThrow('Each round');
});

import { measureInTurn } from './rounds';

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
  expect(measured.map(rounds => rounds.map(r => r.count))).toEqual([
    [3, 5],
    [4, 6],
  ]);
});

import { measureSides } from './rates';

const settings = {
  short: true,
  rounds: 3,
  seconds: 1,
  concurrency: 1,
  rttMs: 0,
};

it('measures sides in turn, and back, and takes rows per second', async () => {
  const order: string[] = [];
  const side = (name: string, seconds: number) => ({
    name,
    async measure() {
      order.push(name);
      return seconds;
    },
  });
  const measured = await measureSides(
    { settings, progress: () => undefined },
    100,
    [side('a', 2), side('b', 4)],
  );
  expect(order.join('')).toBe('abbaab');
  expect(measured).toEqual([
    { name: 'a', rounds: Array(3).fill({ count: 100, perSecond: 50 }) },
    { name: 'b', rounds: Array(3).fill({ count: 100, perSecond: 25 }) },
  ]);
});

import { WriteLog } from './WriteLog';

const write = (from: number, commit: number, to = commit) => ({
  from,
  commit,
  to,
});

it('counts writes for what went on, and failed ones for what they began in', () => {
  const log = new WriteLog();
  log.begin('phase 1');
  log.add(log.current, write(0, 3));
  const began = log.current;
  log.begin('phase 2');
  log.add(began, write(4, 44), new Error('no'));
  log.add(log.current, write(44, 45));
  const [first, second] = log.waits();
  expect(first).toMatchObject({ what: 'phase 1', count: 2, failed: 1 });
  // Held up by the first phase, over in the second: it counts for both.
  expect(second).toMatchObject({ what: 'phase 2', count: 2, failed: 0 });
  expect(first.p100).toBeCloseTo(40, 0);
  expect(second.p100).toBeCloseTo(40, 0);
  expect(log.failed).toBe(1);
  expect(log.failures).toEqual(['A write during phase 1 failed: Error: no']);
});

it('tells the wait for locks from the wait for the disk', () => {
  const log = new WriteLog();
  log.begin('phase 1');
  log.keep();
  log.add(log.current, write(0, 5, 100));
  log.add(log.current, write(0, 20, 30));
  expect(log.waits()[0].p100).toBeCloseTo(20, 0);
  expect(log.wholes()[0].p100).toBeCloseTo(100, 0);
  expect(log.longestWithin({ from: 0, to: 50 })).toEqual({
    wait: 20,
    whole: 100,
  });
});

it('goes on with a stage that was there before', () => {
  const log = new WriteLog();
  log.begin('swap');
  log.add(log.current, write(0, 1));
  log.begin('other');
  log.begin('swap');
  log.add(log.current, write(0, 1));
  expect(log.waits().map(({ what, count }) => [what, count])).toEqual([
    ['swap', 2],
    ['other', 0],
  ]);
});

it('finds the longest of the writes that were under way in a span of time', () => {
  const log = new WriteLog();
  log.begin('swap');
  log.add(log.current, write(0, 100));
  log.keep();
  log.add(log.current, write(0, 90));
  log.add(log.current, write(95, 105));
  log.add(log.current, write(120, 140));
  log.add(log.current, write(151, 200));
  expect(log.longestWithin({ from: 100, to: 150 }).wait).toBe(20);
  expect(log.longestWithin({ from: 100, to: 150 }).wait).toBe(0);
});

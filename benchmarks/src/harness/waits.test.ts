import { createHistogram } from 'node:perf_hooks';
import { judge, recordMs, waitsOf, waitsOfEach } from './waits';

const numbersTo = (count: number) =>
  Array.from({ length: count }, (_, index) => index + 1);

describe('waitsOfEach', () => {
  it('takes waits that were measured, whatever their order', () => {
    expect(waitsOfEach('swap', [30, 10, 20])).toEqual({
      what: 'swap',
      count: 3,
      p50: 20,
      p99: 30,
      p100: 30,
      failed: 0,
    });
  });

  it('leaves one in a hundred out, and no more', () => {
    const { p50, p99, p100 } = waitsOfEach('swap', numbersTo(200));
    expect([p50, p99, p100]).toEqual([100, 198, 200]);
  });

  it('knows that there was none', () => {
    expect(waitsOfEach('swap', [])).toMatchObject({ count: 0, p100: 0 });
  });
});

describe('waitsOf', () => {
  it('reads a histogram in milliseconds', () => {
    const histogram = createHistogram();
    numbersTo(100).forEach(ms => recordMs(histogram, ms));
    const { count, p50, p99, p100, failed } = waitsOf('phase', histogram, 2);
    expect([count, failed]).toEqual([100, 2]);
    // A histogram is exact to three digits.
    expect(p50).toBeCloseTo(50, 0);
    expect(p99).toBeCloseTo(99, 0);
    expect(p100).toBeCloseTo(100, 0);
  });

  it('knows that there was none', () => {
    expect(waitsOf('phase', createHistogram())).toMatchObject({
      count: 0,
      p50: 0,
      p100: 0,
    });
  });
});

describe('judge', () => {
  it.each([
    ['met', waitsOfEach('swap', [50]), true],
    ['missed by a longer wait', waitsOfEach('swap', [50.1]), false],
    ['missed by a failure', waitsOfEach('swap', [1], 1), false],
    ['missed where nothing was measured', waitsOfEach('swap', []), false],
  ])('calls a target of 50 ms %s', (_, waits, met) => {
    expect(judge(waits, 50)).toEqual({ ...waits, target: 50, met });
  });
});

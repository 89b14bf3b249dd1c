import { PassThrough } from 'node:stream';
import { createReporter } from './reporters';

const written = () => {
  const stream = new PassThrough();
  return { stream, text: () => String(stream.read() ?? '') };
};

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
});
afterEach(() => jest.useRealTimers());

it('writes a line with rows, rate and time to go every five seconds, and at the end', () => {
  const { stream, text } = written();
  const progress = createReporter(stream).progress('Copy entities', 10_000);
  jest.advanceTimersByTime(2000);
  progress.advance(2000);
  expect(text()).toBe('');
  jest.advanceTimersByTime(3000);
  progress.advance(3000);
  jest.advanceTimersByTime(4000);
  progress.advance(6000);
  progress.finish();
  progress.finish();
  expect(text()).toBe(
    'Copy entities: 5,000 of 10,000 rows, 1,000 rows/s, ETA 5s\n' +
      'Copy entities: 11,000 of 11,000 rows, 1,222 rows/s, ETA 0s\n',
  );
});

it('mentions a lock that is not granted at the 1st, 2nd, 4th … attempt only', () => {
  const { stream, text } = written();
  const reporter = createReporter(stream);
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    reporter.waiting('Add the column', attempt, []);
  }
  reporter.warn('something');
  const lines = text();
  expect(lines.match(/attempt \d+/g)).toEqual([
    'attempt 1',
    'attempt 2',
    'attempt 4',
    'attempt 8',
  ]);
  expect(lines).toContain('Warning: something\n');
});

import { PassThrough } from 'node:stream';
import { createReporter } from './reporters';
import type { CloseableReporter, LogStream } from './reporters';

/** A stream that remembers what it was told. */
function fakeStream(isTTY: boolean): LogStream & { text(): string } {
  const chunks: string[] = [];
  const stream = new PassThrough();
  stream.on('data', chunk => chunks.push(String(chunk)));
  return Object.assign(stream, {
    isTTY,
    columns: 120,
    text: () => {
      const rest = stream.read();
      return chunks.concat(rest === null ? [] : String(rest)).join('');
    },
  });
}

let reporter: CloseableReporter;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
});
afterEach(() => {
  reporter.close();
  jest.useRealTimers();
});

async function flush(): Promise<void> {
  await new Promise<void>(resolve => process.nextTick(resolve));
}

describe('without a terminal', () => {
  it('writes a line with rows, rate and time to go every five seconds, and at the end', async () => {
    const stream = fakeStream(false);
    reporter = createReporter(stream);
    const progress = reporter.progress('Copy entities', 10_000);
    jest.advanceTimersByTime(2000);
    progress.advance(2000);
    await flush();
    expect(stream.text()).toBe('');
    jest.advanceTimersByTime(3000);
    progress.advance(3000);
    jest.advanceTimersByTime(5000);
    progress.advance(5000);
    progress.finish();
    progress.finish();
    await flush();
    expect(stream.text()).toMatch(
      /^Copy entities: 2,000 of 10,000 rows, 400 rows\/s, ETA .*\n+Copy entities: 5,000 .*\n+Copy entities: 10,000 .*\n$/,
    );
  });

  it('leaves no timer when it is closed in the middle', () => {
    reporter = createReporter(fakeStream(false));
    reporter.progress('Fill entities', 10);
    reporter.close();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('lets the total grow when the estimate was too small', async () => {
    const stream = fakeStream(false);
    reporter = createReporter(stream);
    const progress = reporter.progress('Fill entities', 10);
    jest.advanceTimersByTime(1000);
    progress.advance(20);
    progress.finish();
    await flush();
    expect(stream.text()).toContain('20 of 20 rows');
  });

  it('mentions a lock that is not granted at the 1st, 2nd, 4th … attempt only', async () => {
    const stream = fakeStream(false);
    reporter = createReporter(stream);
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      reporter.waiting('Add the column', attempt, []);
    }
    reporter.warn('something');
    await flush();
    expect(stream.text().match(/attempt \d+/g)).toEqual([
      'attempt 1',
      'attempt 2',
      'attempt 4',
      'attempt 8',
    ]);
    expect(stream.text()).toContain('Warning: something\n');
  });
});

describe('on a terminal', () => {
  it('draws a bar with rows, rate and time to go', async () => {
    const stream = fakeStream(true);
    reporter = createReporter(stream);
    const progress = reporter.progress('Copy entities', 10_000);
    jest.advanceTimersByTime(1000);
    progress.advance(2500);
    jest.advanceTimersByTime(1000);
    await flush();
    expect(stream.text()).toMatch(
      /Copy entities =+-+ 25% \| 2,500 of 10,000 rows, [12],\d+ rows\/s, ETA 3s/,
    );
    progress.advance(7500);
    progress.finish();
    await flush();
    expect(stream.text()).toContain('100% | 10,000 of 10,000 rows');
    expect(jest.getTimerCount()).toBe(0);
  });

  it('writes lines above the bar, and loses none at the end', async () => {
    const stream = fakeStream(true);
    reporter = createReporter(stream);
    reporter.info('before');
    const progress = reporter.progress('Copy entities', 10);
    reporter.warn('in the middle');
    progress.finish();
    reporter.info('after');
    await flush();
    const text = stream.text();
    const order = ['before\n', 'Warning: in the middle\n', 'after\n'];
    expect(order.map(line => text.indexOf(line)).every(at => at >= 0)).toBe(
      true,
    );
  });

  it('leaves no timer when it is closed in the middle', () => {
    reporter = createReporter(fakeStream(true));
    reporter.progress('Copy entities', 10);
    reporter.close();
    expect(jest.getTimerCount()).toBe(0);
  });
});

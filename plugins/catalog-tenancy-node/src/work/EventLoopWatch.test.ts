import { mockServices } from '@backstage/backend-test-utils';
import { waitUntil } from '@internal/postgres/testUtils';
import { EventLoopWatch } from './EventLoopWatch';

describe('a process that stands still', () => {
  const logger = mockServices.logger.mock();
  let watch: EventLoopWatch;

  beforeEach(() => {
    logger.warn.mockClear();
    watch = EventLoopWatch.start({ logger });
  });
  afterEach(() => watch.stop());

  /** Until the watch has looked twice. */
  const looks = async () => {
    for (let i = 0; i < 2; i += 1) {
      await new Promise(resolve => {
        setTimeout(resolve, 60);
      });
    }
  };

  function hold(milliseconds: number): void {
    const end = performance.now() + milliseconds;
    while (performance.now() < end) {
      // Everything else waits.
    }
  }

  it('is in the log with the tenant and what ran, and is a metric', async () => {
    const end = watch.begin('globex', 'GET /catalog/entities');
    await looks();
    const endOther = watch.begin('acme', 'POST /catalog/locations\n"');
    hold(400);
    endOther();
    await waitUntil('the line', async () => logger.warn.mock.calls.length > 0);
    expect(logger.warn.mock.calls[0][0]).toMatch(
      /^The process stood still for \d+ ms: under way were "POST \/catalog\/locations\\n\\"" of the tenant 'acme'; "GET \/catalog\/entities" of the tenant 'globex'$/,
    );
    expect(watch.takeLongestMs()).toBeGreaterThan(200);
    end();
  });

  it('is a metric alone while nothing of a tenant was under way', async () => {
    await looks();
    hold(400);
    await looks();
    expect(watch.takeLongestMs()).toBeGreaterThan(200);
    expect(logger.warn).not.toHaveBeenCalled();
  });
});

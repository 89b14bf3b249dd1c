import { waitUntil, withDeadline } from '@internal/postgres/testUtils';
import { mockLogger } from '../__testUtils__/serviceMocks';
import { AdminAccessError } from '../pool/errors';
import { AuditQueue } from './AuditQueue';

interface Entry {
  event_id: string;
}

const createQueue = (
  write: (entries: Entry[]) => Promise<void>,
  logger = mockLogger(),
) => new AuditQueue({ write, describe: ({ event_id }) => event_id, logger });

describe('AuditQueue', () => {
  it.each([0, 1, 2, 3, 4, 5, 6])(
    'writes an entry that arrives %d microtasks after the last batch',
    async ticks => {
      const written: string[] = [];
      const queue = createQueue(async entries => {
        written.push(...entries.map(({ event_id }) => event_id));
        if (written.length === 1) {
          let later = Promise.resolve();
          for (let tick = 0; tick < ticks; tick += 1) {
            later = later.then(() => {});
          }
          later.then(() => queue.add({ event_id: 'late' }));
        }
      });
      await queue.store({ event_id: 'first' });
      await new Promise(setImmediate);
      await queue.stop();
      expect(written).toEqual(['first', 'late']);
    },
  );

  it('leaves an entry to its caller while another one is written', async () => {
    const written: string[] = [];
    const queue = createQueue(async entries => {
      written.push(...entries.map(({ event_id }) => event_id));
    });
    await queue.add({ event_id: 'begun' });
    await queue.store({ event_id: 'ended' });
    expect(written).toEqual(['ended']);
    expect(queue.take('begun')).toBe(true);
    await queue.stop();
    expect(written).toEqual(['ended']);
  });

  it('refuses nobody who waits for room where nothing can be stored any more', async () => {
    let refuse!: (error: Error) => void;
    const queue = createQueue(
      () => new Promise((_resolve, reject) => (refuse = reject)),
    );
    void queue.store({ event_id: 'first' });
    await waitUntil('the first entry to be written', () => refuse);
    for (let index = 0; index < 10_000; index += 1) {
      await queue.add({ event_id: String(index) });
    }
    const added = queue.add({ event_id: 'late' });
    refuse(new AdminAccessError('withheld'));
    await expect(
      withDeadline('the entry to be taken', added),
    ).resolves.toBeUndefined();
  });

  it('does not keep the process from ending where nothing can be stored', async () => {
    const logger = mockLogger();
    const queue = createQueue(() => Promise.reject(new Error('away')), logger);
    await queue.add({ event_id: 'lost' });
    jest.useFakeTimers({ doNotFake: ['performance'] });
    try {
      const stopped = queue.stop();
      await jest.advanceTimersByTimeAsync(10_000);
      await stopped;
    } finally {
      jest.useRealTimers();
    }
    expect(logger.warn).toHaveBeenLastCalledWith(
      'Audit trails are not stored: the process ends, and the last events are lost',
    );
  });
});

import type {
  MetricsService,
  MetricsServiceObservableCallback,
} from '@backstage/backend-plugin-api/alpha';
import { countReads } from './countReads';

describe('the metric of reads that a replica might answer', () => {
  it('tells what became of them so far, whenever it is asked', async () => {
    const counts = { replica: 0, written: 2, unusable: 3, failed: 4 };
    const callbacks: MetricsServiceObservableCallback[] = [];
    const metrics = {
      createObservableCounter: jest.fn(() => ({
        addCallback: (callback: MetricsServiceObservableCallback) =>
          callbacks.push(callback),
      })),
    };
    countReads(metrics as unknown as MetricsService, { counts });
    expect(metrics.createObservableCounter).toHaveBeenCalledWith(
      'tenancy.replica.reads.count',
      expect.anything(),
    );

    counts.replica = 1;
    const observe = jest.fn();
    await Promise.all(callbacks.map(callback => callback({ observe })));
    expect(observe.mock.calls).toEqual([
      [1, { outcome: 'replica' }],
      [2, { outcome: 'written' }],
      [3, { outcome: 'unusable' }],
      [4, { outcome: 'failed' }],
    ]);
  });
});

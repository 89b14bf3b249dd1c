import type {
  MetricsService,
  MetricsServiceObservableCallback,
} from '@backstage/backend-plugin-api/alpha';
import { observeOperations } from './observeOperations';

describe('the metrics of operations', () => {
  it('tell how many there are, whenever they are asked', async () => {
    const counts = { running: 0, waiting: 0, refused: 0 };
    const callbacks = new Map<string, MetricsServiceObservableCallback>();
    const create = (name: string) => ({
      addCallback: (callback: MetricsServiceObservableCallback) =>
        callbacks.set(name, callback),
    });
    observeOperations(
      {
        createObservableGauge: create,
        createObservableCounter: create,
      } as unknown as MetricsService,
      { counts },
    );
    Object.assign(counts, { running: 1, waiting: 2, refused: 3 });
    const observed: Record<string, number> = {};
    for (const [name, callback] of callbacks) {
      await callback({ observe: value => (observed[name] = value) });
    }
    expect(observed).toEqual({
      'tenancy.operations.running': 1,
      'tenancy.operations.waiting': 2,
      'tenancy.operations.refused': 3,
    });
  });
});

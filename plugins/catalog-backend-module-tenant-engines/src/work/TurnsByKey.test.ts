import { AsyncLocalStorage } from 'node:async_hooks';
import { TurnsByKey } from './TurnsByKey';

it('runs what has waited in the async context of its caller', async () => {
  const request = new AsyncLocalStorage<string>();
  const turns = new TurnsByKey();
  const seen = ['first', 'second'].map(name =>
    request.run(name, () =>
      turns.run('acme', async () => {
        await Promise.resolve();
        return request.getStore();
      }),
    ),
  );
  await expect(Promise.all(seen)).resolves.toEqual(['first', 'second']);
});

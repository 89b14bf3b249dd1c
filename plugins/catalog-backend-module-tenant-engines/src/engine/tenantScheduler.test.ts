import { mockServices } from '@backstage/backend-test-utils';
import { waitUntil } from '@internal/postgres/testUtils';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { currentReach, Reach } from '../reach/Reach';
import { BackgroundWork } from '../work/BackgroundWork';
import { tenantScheduler } from './tenantScheduler';

it('runs what only looks for work by a timer, while the work is open', async () => {
  const outer = mockServices.scheduler.mock();
  const work = new BackgroundWork({
    tenantSlug: 'acme',
    holdsLease: () => true,
  });
  const ending = new AbortController();
  const scheduler = tenantScheduler({
    scheduler: outer,
    tenant: { tenantId: 'of-acme', tenantSlug: 'acme' },
    work,
    logger: mockServices.logger.mock(),
    signal: ending.signal,
    onTask: () => {
      throw new Error('The engine would never sleep');
    },
  });
  let runs = 0;
  await scheduler.scheduleTask({
    id: 'catalog_orphan_cleanup',
    frequency: { milliseconds: 1 },
    timeout: { minutes: 1 },
    fn: async () => {
      expect(work.mayBegin).toBe(true);
      runs += 1;
      throw new Error('It runs again all the same');
    },
  });
  work.open();
  await waitUntil('two runs', () => runs > 1);
  ending.abort();
  expect(outer.scheduleTask).not.toHaveBeenCalled();
});

it('runs tasks within the reach of their tenant, wherever they are scheduled again from', async () => {
  const runs: (() => unknown)[] = [];
  const work = new BackgroundWork({
    tenantSlug: 'acme',
    holdsLease: () => true,
  });
  const scheduler = tenantScheduler({
    scheduler: mockServices.scheduler.mock({
      scheduleTask: async ({ fn }) => {
        runs.push(() => (fn as Function)(new AbortController().signal));
      },
    }),
    tenant: { tenantId: 'of-acme', tenantSlug: 'acme' },
    work,
    within: task => new Reach({ isListed: () => true }).run(task),
    logger: mockServices.logger.mock(),
    signal: new AbortController().signal,
  });
  const reaches: (Reach | undefined)[] = [];
  await scheduler.scheduleTask({
    id: 'task',
    frequency: { hours: 1 },
    timeout: { minutes: 1 },
    fn: async () => {
      reaches.push(currentReach());
    },
  });
  expect(runs).toEqual([]);
  // As another process that gets the lease does.
  work.open();
  await Promise.all(runs.map(run => run()));
  expect(reaches).toEqual([expect.any(Reach)]);
});

it('leaves nothing of an engine behind that has stopped, although Backstage keeps its tasks', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const kept: object[] = [];
  const work = new BackgroundWork({
    tenantSlug: 'acme',
    holdsLease: () => true,
  });
  work.open();
  const ending = new AbortController();
  const schedule = async () => {
    const engine = { runs: 0 };
    const scheduler = tenantScheduler({
      scheduler: mockServices.scheduler.mock({
        scheduleTask: async task => {
          kept.push(task);
        },
      }),
      tenant: { tenantId: 'of-acme', tenantSlug: 'acme' },
      work,
      logger: mockServices.logger.mock(),
      signal: ending.signal,
    });
    await scheduler.scheduleTask({
      id: 'task',
      frequency: { hours: 1 },
      timeout: { minutes: 1 },
      fn: async () => {
        engine.runs += 1;
      },
    });
    return new WeakRef(engine);
  };
  const engine = await schedule();
  ending.abort();
  await waitUntil('the engine to be gone', () => {
    collect();
    return engine.deref() === undefined;
  });
  expect(kept).toHaveLength(1);
});

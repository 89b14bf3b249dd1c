import { mockServices } from '@backstage/backend-test-utils';
import { currentReach, Reach } from '../reach/Reach';
import { BackgroundWork } from '../work/BackgroundWork';
import { tenantScheduler } from './tenantScheduler';

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

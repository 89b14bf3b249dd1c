import { mockServices } from '@backstage/backend-test-utils';
import type {
  SchedulerServiceTaskDescriptor,
  SchedulerServiceTaskScheduleDefinition,
  SchedulerServiceTaskInvocationDefinition,
} from '@backstage/backend-plugin-api';
import { waitUntil } from '@internal/postgres/testUtils';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { currentReach, Reach } from '../reach/Reach';
import { BackgroundWork } from '../work/BackgroundWork';
import { tenantScheduler } from './tenantScheduler';

type Task = SchedulerServiceTaskScheduleDefinition &
  SchedulerServiceTaskInvocationDefinition;

const TASK = { id: 'task', frequency: { hours: 1 }, timeout: { minutes: 1 } };

function setUp(options: Partial<Parameters<typeof tenantScheduler>[0]> = {}) {
  const work = new BackgroundWork({
    tenantSlug: 'acme',
    holdsLease: () => true,
  });
  const ending = new AbortController();
  const logger = mockServices.logger.mock();
  /** Backstage keeps them for ever. */
  const tasks: Task[] = [];
  const outer = mockServices.scheduler.mock({
    scheduleTask: async task => void tasks.push(task),
    getScheduledTasks: async () =>
      ['tenant:of-acme:task', 'tenant:of-globex:task', 'task'].map(
        id => ({ id } as SchedulerServiceTaskDescriptor),
      ),
  });
  const scheduler = tenantScheduler({
    scheduler: outer,
    tenant: { tenantId: 'of-acme', tenantSlug: 'acme' },
    work,
    logger,
    signal: ending.signal,
    ...options,
  });
  const run = ({ fn }: Task) => (fn as Function)(new AbortController().signal);
  return { ending, logger, outer, run, scheduler, tasks, work };
}

it('runs what only looks for work by a timer, while the work is open, within the reach of the tenant', async () => {
  const { ending, outer, scheduler, work } = setUp({
    onTask: () => {
      throw new Error('The engine would never sleep');
    },
    within: task => new Reach({ isListed: () => true }).run(task),
  });
  const runs: (Reach | false | undefined)[] = [];
  await scheduler.scheduleTask({
    id: 'catalog_orphan_cleanup',
    frequency: { milliseconds: 1 },
    timeout: { minutes: 1 },
    fn: async () => {
      runs.push(work.mayBegin && currentReach());
      throw new Error('It runs again all the same');
    },
  });
  // Longer than the interval of the task.
  await delay(20);
  expect(runs).toEqual([]);
  work.open();
  await waitUntil('two runs', () => runs.length > 1);
  ending.abort();
  expect(new Set(runs.map(reach => reach instanceof Reach))).toEqual(
    new Set([true]),
  );
  expect(outer.scheduleTask).not.toHaveBeenCalled();
});

it('runs tasks within the reach of their tenant, wherever they are scheduled again from', async () => {
  const { run, scheduler, tasks, work } = setUp({
    within: task => new Reach({ isListed: () => true }).run(task),
  });
  const reaches: (Reach | undefined)[] = [];
  await scheduler.scheduleTask({
    ...TASK,
    fn: async () => {
      reaches.push(currentReach());
    },
  });
  expect(tasks).toEqual([]);
  // As another process that gets the lease does.
  work.open();
  await Promise.all(tasks.map(run));
  expect(reaches).toEqual([expect.any(Reach)]);
});

it('ends tasks with the work of the tenant, and has them begin again with it', async () => {
  const { logger, outer, run, scheduler, tasks, work } = setUp();
  const ofTask: (BackgroundWork | undefined)[] = [];
  work.open();
  await scheduler.scheduleTask({
    ...TASK,
    fn: async () => {
      ofTask.push(BackgroundWork.current());
    },
  });
  work.close();
  expect(tasks[0].signal?.aborted).toBe(true);
  await run(tasks[0]);
  expect(ofTask).toEqual([]);
  // No caller would get the failure.
  outer.scheduleTask.mockRejectedValueOnce(new Error('The database is away'));
  work.open();
  await waitUntil('the warning', () => logger.warn.mock.calls.length > 0);
  work.close();
  work.open();
  await waitUntil('the next begin', () => tasks.length === 2);
  await run(tasks[1]);
  expect(ofTask).toEqual([work]);
});

it('knows the tasks of its tenant alone', async () => {
  const { outer, scheduler } = setUp();
  await scheduler.triggerTask('task');
  expect(outer.triggerTask).toHaveBeenCalledWith('tenant:of-acme:task');
  await scheduler.cancelTask('task');
  expect(outer.cancelTask).toHaveBeenCalledWith('tenant:of-acme:task');
  expect(await scheduler.getScheduledTasks()).toEqual([{ id: 'task' }]);
});

it('leaves nothing of an engine behind that has stopped, although Backstage keeps its tasks', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const { ending, scheduler, tasks, work } = setUp();
  work.open();
  const schedule = async () => {
    const engine = { runs: 0 };
    await scheduler.scheduleTask({
      ...TASK,
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
  expect([tasks.length, work.mayBegin]).toEqual([1, true]);
});

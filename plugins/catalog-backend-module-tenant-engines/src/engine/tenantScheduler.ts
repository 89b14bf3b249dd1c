import type {
  LoggerService,
  SchedulerService,
  SchedulerServiceTaskScheduleDefinition,
  SchedulerServiceTaskInvocationDefinition,
} from '@backstage/backend-plugin-api';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';
import { setTimeout as delay } from 'node:timers/promises';
import type { WithinReach } from '../reach/Reach';
import type { BackgroundWork } from '../work/BackgroundWork';
import { decorateKnown } from './decorate';

type Task = SchedulerServiceTaskScheduleDefinition &
  SchedulerServiceTaskInvocationDefinition;

const RETRY_MS = 5_000;

/**
 * A task that only looks for work, every 30 seconds: in the table of tasks, hundreds of tenants
 * would be most of all that is written to it. One process does the background work of
 * a tenant, so that a timer of the engine runs it as often. Not one of the backend's scheduler,
 * which never forgets a task, and with it an engine that has stopped.
 */
const LOCAL_TASK = 'catalog_orphan_cleanup';

/**
 * The scheduler of a tenant's nested plugin. Its tasks are tasks of the backend's scheduler,
 * with the tenant in their ids: they run as often as they should across restarts and processes.
 * Of the processes of a deployment, the one that does the background work of the tenant
 * runs them.
 */
export function tenantScheduler(options: {
  scheduler: SchedulerService;
  tenant: ActiveTenant;
  work: BackgroundWork;
  /** The hosts to which tasks may connect; all by default. */
  within?: WithinReach;
  logger: LoggerService;
  /** Ends all tasks. */
  signal: AbortSignal;
  /** Called when a task is scheduled, for which the engine has to run. */
  onTask?: () => void;
}): SchedulerService {
  const { scheduler, tenant, work, logger, signal } = options;
  const { within = run => run() } = options;
  const prefix = `tenant:${tenant.tenantId}:`;

  /** Aborts as soon as no more work may begin. */
  const schedule = (task: Task, closing: AbortSignal) => {
    const ending = AbortSignal.any(
      [task.signal, signal, closing].filter(each => each !== undefined),
    );
    return scheduler.scheduleTask({
      ...task,
      id: `${prefix}${task.id}`,
      fn: untilAborted(ending, async abortSignal =>
        work.runTask(() => within(async () => task.fn(abortSignal))),
      ),
      signal: ending,
    });
  };

  /** No caller sees a failure, so it is retried until it succeeds. */
  const scheduleAgain = async (task: Task, closing: AbortSignal) => {
    while (!closing.aborted && !signal.aborted) {
      try {
        await schedule(task, closing);
        return;
      } catch (error) {
        logger.warn(
          `The task ${task.id} can't be scheduled at the moment: ${error}`,
        );
        await delay(RETRY_MS, undefined, { signal: closing }).catch(
          () => undefined,
        );
      }
    }
  };

  /** Schedules the task each time that work may begin again. The first time may fail. */
  let runLocal: (() => Promise<void>) | undefined;
  const scheduleWhileOpen = async (task: Task) => {
    if (task.id === LOCAL_TASK && 'milliseconds' in task.frequency) {
      const ending = AbortSignal.any(
        [signal, task.signal].filter(each => each !== undefined),
      );
      runLocal = () => work.runTask(() => within(async () => task.fn(ending)));
      runByTimer({
        ms: Number(task.frequency.milliseconds),
        run: runLocal,
        mayRun: () => work.mayBegin,
        signal: ending,
      });
      return;
    }
    options.onTask?.();
    let closing: AbortController | undefined;
    const update = async (attempt: typeof schedule) => {
      if (!work.mayBegin || signal.aborted) {
        closing?.abort();
        closing = undefined;
      } else if (!closing) {
        closing = new AbortController();
        await attempt(task, closing.signal);
      }
    };
    const stop = work.onChange(() => update(scheduleAgain));
    [signal, task.signal].forEach(each =>
      each?.addEventListener('abort', stop, { once: true }),
    );
    await update(schedule);
  };

  // An unknown method would reach the tasks of all tenants.
  return decorateKnown<SchedulerService>('scheduler', scheduler, {
    scheduleTask: scheduleWhileOpen,
    createScheduledTaskRunner: definition => ({
      run: task => scheduleWhileOpen({ ...definition, ...task }),
    }),
    triggerTask: async id => {
      if (id === LOCAL_TASK && runLocal) {
        // Not awaited: it may wait until there is something to look for.
        runLocal().catch(() => undefined);
      } else {
        await scheduler.triggerTask(`${prefix}${id}`);
      }
    },
    cancelTask: id => scheduler.cancelTask(`${prefix}${id}`),
    getScheduledTasks: async () => {
      const tasks = await scheduler.getScheduledTasks();
      const ofTenant = tasks
        .filter(({ id }) => id.startsWith(prefix))
        .map(task => ({ ...task, id: task.id.slice(prefix.length) }));
      // This process schedules a task again each time that it gets the lease.
      return [...new Map(ofTenant.map(task => [task.id, task])).values()];
    },
  });
}

/**
 * Backstage's scheduler keeps the last function of each task for ever, and with it what that refers
 * to: the engine of a tenant whose work another process does by now.
 */
function untilAborted(
  signal: AbortSignal,
  fn: (signal: AbortSignal) => Promise<void>,
): (signal: AbortSignal) => Promise<void> {
  let current: typeof fn | undefined = fn;
  const forget = () => {
    current = undefined;
  };
  signal.addEventListener('abort', forget, { once: true });
  return async abortSignal => current?.(abortSignal);
}

/** Runs a task after each interval, until the signal aborts. It logs its failures itself. */
async function runByTimer(options: {
  ms: number;
  run: () => Promise<void>;
  mayRun: () => boolean;
  signal: AbortSignal;
}): Promise<void> {
  const { ms, run, mayRun, signal } = options;
  for (;;) {
    await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) {
      return;
    }
    if (mayRun()) {
      await run().catch(() => undefined);
    }
  }
}

import type {
  LoggerService,
  SchedulerService,
  SchedulerServiceTaskScheduleDefinition,
} from '@backstage/backend-plugin-api';
import {
  AdminAccessError,
  type AdminDatabase,
  type CatalogAdoption,
  purgeDeletedEntities,
  type TenantAuditTrail,
  type TenantUsageStore,
} from 'backstage-plugin-catalog-tenancy-node';

interface Task
  extends Omit<SchedulerServiceTaskScheduleDefinition, 'scope' | 'cadence'> {
  id: string;
  fn: (signal: AbortSignal) => Promise<void>;
}

interface TaskOptions {
  admin: AdminDatabase;
  adoption: Pick<CatalogAdoption, 'retryFaults'>;
  logger: LoggerService;
  scheduler: SchedulerService;
  trail: Pick<TenantAuditTrail, 'deleteOld' | 'send'>;
  usage: Pick<TenantUsageStore, 'countEntities'>;
  /** Whether a webhook gets the events of audit trails. */
  sendsEvents: boolean;
}

/** Schedules the work for all tenants that one of the backends does at a time. */
export async function scheduleTasks(options: TaskOptions): Promise<void> {
  const { adoption, logger, scheduler, sendsEvents, trail, usage } = options;
  const tasks: Task[] = [
    {
      id: 'tenancy-count-entities',
      frequency: { hours: 6 },
      timeout: { hours: 1 },
      initialDelay: { minutes: 5 },
      fn: signal => usage.countEntities(signal),
    },
    {
      // A cause may disappear without a change of the entity.
      id: 'tenancy-retry-adoption-faults',
      frequency: { minutes: 10 },
      timeout: { minutes: 10 },
      initialDelay: { minutes: 10 },
      fn: () => adoption.retryFaults(),
    },
    {
      id: 'tenancy-purge-deleted-entities',
      frequency: { days: 1 },
      timeout: { hours: 1 },
      initialDelay: { minutes: 10 },
      fn: signal => purge(options, signal),
    },
  ];
  if (sendsEvents) {
    tasks.push({
      id: 'tenancy-send-audit-events',
      frequency: { seconds: 10 },
      timeout: { minutes: 10 },
      fn: signal =>
        trail.send(signal).catch(error => {
          logger.warn(
            `Events of audit trails could not be sent and are kept for the next attempt: ${error}`,
          );
        }),
    });
  }
  for (const task of tasks) {
    await scheduler.scheduleTask({ ...task, scope: 'global' });
  }
}

/**
 * Removes entities that were deleted more than their tenant's `entity_ttl_days` ago, and old
 * events of audit trails.
 */
async function purge(
  { admin, logger, trail }: TaskOptions,
  signal: AbortSignal,
): Promise<void> {
  try {
    const old = await trail.deleteOld(signal);
    if (old > 0) {
      logger.info(`Deleted ${old} old events of audit trails`);
    }
    for (const tenant of await purgeDeletedEntities(admin, { signal })) {
      const { error, purged, tenant_slug: slug } = tenant;
      logger.info(`Purged ${purged} deleted entities of the tenant '${slug}'`);
      if (error) {
        logger.warn(
          `Deleted entities of the tenant '${slug}' stay until the next purge: ${error}`,
        );
      }
    }
  } catch (error) {
    if (!(error instanceof AdminAccessError)) {
      throw error;
    }
    logger.warn(
      `Deleted entities and old events of audit trails are not purged: the database user is not a member of portal_admin (${error.message})`,
    );
  }
}

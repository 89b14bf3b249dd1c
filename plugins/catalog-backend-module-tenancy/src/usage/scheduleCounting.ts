import type { SchedulerService } from '@backstage/backend-plugin-api';
import type { TenantUsageStore } from 'backstage-plugin-catalog-tenancy-node';

/** Counts the entities of all tenants every six hours, in one of the backends. */
export async function scheduleCounting(options: {
  scheduler: SchedulerService;
  usage: Pick<TenantUsageStore, 'countEntities'>;
}): Promise<void> {
  const { scheduler, usage } = options;
  await scheduler.scheduleTask({
    id: 'tenancy-count-entities',
    scope: 'global',
    frequency: { hours: 6 },
    timeout: { hours: 1 },
    initialDelay: { minutes: 5 },
    fn: signal => usage.countEntities(signal),
  });
}

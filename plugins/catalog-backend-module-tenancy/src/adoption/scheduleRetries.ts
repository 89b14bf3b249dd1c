import type { SchedulerService } from '@backstage/backend-plugin-api';
import type { CatalogAdoption } from 'backstage-plugin-catalog-tenancy-node';

/** The id of the task in the scheduler of the catalog plugin. */
export const RETRY_TASK = 'tenancy-retry-adoption-faults';

/**
 * Retries adoption faults every ten minutes in one of the backends: a cause may disappear
 * without a change of the entity.
 */
export async function scheduleRetries(options: {
  adoption: CatalogAdoption;
  scheduler: SchedulerService;
}): Promise<void> {
  const { adoption, scheduler } = options;
  await scheduler.scheduleTask({
    id: RETRY_TASK,
    scope: 'global',
    frequency: { minutes: 10 },
    timeout: { minutes: 10 },
    initialDelay: { minutes: 10 },
    fn: () => adoption.retryFaults(),
  });
}

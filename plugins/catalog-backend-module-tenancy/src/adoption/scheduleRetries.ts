import type { SchedulerService } from '@backstage/backend-plugin-api';
import type { CatalogAdoption } from 'backstage-plugin-catalog-tenancy-node';

/** The task as it is named among those of the catalog plugin. */
export const RETRY_TASK = 'tenancy-retry-adoption-faults';

/**
 * Has what could not be carried over tried again every ten minutes, by one of the
 * backends: the reason may be gone without another change of the entity.
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

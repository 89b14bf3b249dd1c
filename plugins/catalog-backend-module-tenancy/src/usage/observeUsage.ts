import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import type { TenantUsageStore } from 'backstage-plugin-catalog-tenancy-node';

/** Exports the usage of each tenant as metrics. */
export function observeUsage(
  metrics: MetricsService,
  usage: Pick<TenantUsageStore, 'totals'>,
): void {
  metrics
    .createObservableCounter('tenancy.usage.requests', {
      description: 'Requests that were let into a tenant',
      unit: '{request}',
    })
    .addCallback(result => {
      for (const [tenant, { requests }] of usage.totals()) {
        result.observe(requests, { tenant });
      }
    });
  metrics
    .createObservableCounter('tenancy.usage.database.duration', {
      description: 'For how long operations of a tenant have had a connection',
      unit: 's',
    })
    .addCallback(result => {
      for (const [tenant, { databaseMs }] of usage.totals()) {
        result.observe(databaseMs / 1_000, { tenant });
      }
    });
}

import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import type { TenancyPool } from 'backstage-plugin-catalog-tenancy-node';

/** Exports the numbers of operations as metrics. */
export function observeOperations(
  metrics: MetricsService,
  pool: Pick<TenancyPool, 'counts'>,
): void {
  metrics
    .createObservableGauge('tenancy.operations.running', {
      description: 'Operations that have a connection of the pool',
      unit: '{operation}',
    })
    .addCallback(result => result.observe(pool.counts.running));
  metrics
    .createObservableGauge('tenancy.operations.waiting', {
      description:
        'Operations that wait for others of their tenant, or for a connection',
      unit: '{operation}',
    })
    .addCallback(result => result.observe(pool.counts.waiting));
  metrics
    .createObservableCounter('tenancy.operations.refused', {
      description:
        'Operations that were refused because their tenant had too many under way',
      unit: '{operation}',
    })
    .addCallback(result => result.observe(pool.counts.refused));
}

import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import type {
  ReadReplica,
  TenancyPool,
  TenantUsageStore,
} from 'backstage-plugin-catalog-tenancy-node';

/** Exports as metrics what tenants use, and how their operations and reads go. */
export function exportMetrics(
  metrics: MetricsService,
  options: {
    pool: Pick<TenancyPool, 'counts'>;
    replica?: Pick<ReadReplica, 'counts'>;
    usage: Pick<TenantUsageStore, 'totals'>;
  },
): void {
  const { pool, replica, usage } = options;
  const operation = { unit: '{operation}' };
  metrics
    .createObservableGauge('tenancy.operations.running', {
      ...operation,
      description: 'Operations that have a connection of the pool',
    })
    .addCallback(result => result.observe(pool.counts.running));
  metrics
    .createObservableGauge('tenancy.operations.waiting', {
      ...operation,
      description:
        'Operations that wait for others of their tenant, or for a connection',
    })
    .addCallback(result => result.observe(pool.counts.waiting));
  metrics
    .createObservableCounter('tenancy.operations.refused', {
      ...operation,
      description:
        'Operations that were refused because their tenant had too many under way',
    })
    .addCallback(result => result.observe(pool.counts.refused));
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
  if (replica) {
    metrics
      .createObservableCounter('tenancy.replica.reads.count', {
        description:
          'Reads that a replica might answer: by it, or by the primary because the tenant was ' +
          'written to, because the replica is unusable, or because it has failed',
        unit: '{read}',
      })
      .addCallback(result => {
        for (const [outcome, count] of Object.entries(replica.counts)) {
          result.observe(count, { outcome });
        }
      });
  }
}

import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import type { ReadReplica } from 'backstage-plugin-catalog-tenancy-node';

/**
 * Exports as metrics how many reads the replica has answered, and why it has not answered
 * others.
 */
export function countReads(
  metrics: MetricsService,
  replica: Pick<ReadReplica, 'counts'>,
): void {
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

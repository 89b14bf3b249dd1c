import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import type { Resolution } from './TenantResolver';

/** Counts what became of requests, by source and, where one was found, by tenant. */
export function countResolutions(
  metrics: MetricsService,
): (resolution: Resolution) => void {
  const count = metrics.createCounter('tenancy.resolutions.count', {
    description:
      'Requests by where their tenant was named, and what became of it',
    unit: '{request}',
  });
  return resolution => {
    const { outcome, source } = resolution;
    // A slug that names no tenant is the caller's invention. With it as an attribute
    // anybody could make up time series without end.
    count.add(
      1,
      resolution.outcome === 'resolved'
        ? { outcome, source, tenant: resolution.tenant.tenantSlug }
        : { outcome, source },
    );
  };
}

import type { OwnLimits } from '../pool/TenantLimits';
import type { TenancyPool } from '../pool/TenancyPool';
import type { Tenant } from './Tenant';

/** The fields of a tenant that hold its limits. */
export const LIMIT_NAMES = [
  'concurrency',
  'requests_per_second',
  'burst',
] as const satisfies Array<keyof Tenant>;

export type LimitField = (typeof LIMIT_NAMES)[number];

interface LimitRow extends Pick<Tenant, LimitField> {
  tenant_id: string;
}

/** The limits of tenants that have any in the registry, by id. */
export async function readTenantLimits(
  pool: Pick<TenancyPool, 'query'>,
): Promise<Map<string, OwnLimits>> {
  // Scans the registry, which has one row for each tenant.
  const rows = await pool.query<LimitRow>(knex =>
    knex('tenants')
      .select('tenant_id', ...LIMIT_NAMES)
      .whereRaw(`coalesce(${LIMIT_NAMES.join(', ')}) is not null`),
  );
  return new Map(rows.map(row => [row.tenant_id, toLimits(row) ?? {}]));
}

function toLimits({
  concurrency,
  requests_per_second: requestsPerSecond,
  burst,
}: LimitRow): OwnLimits | undefined {
  if (concurrency === null && requestsPerSecond === null) {
    return undefined;
  }
  return {
    ...(concurrency !== null && { concurrency }),
    ...(requestsPerSecond !== null && {
      rate: { requestsPerSecond, burst: burst ?? requestsPerSecond },
    }),
  };
}

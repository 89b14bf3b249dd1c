import type { Knex } from 'knex';
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

/**
 * The columns of the limits. Null if the table lacks them: phase 5 is not complete, or was
 * completed by an earlier version.
 */
export function selectLimits(knex: Knex): Knex.Raw[] {
  return LIMIT_NAMES.map(name =>
    knex.raw(`to_jsonb(tenants) -> '${name}' as ${name}`),
  );
}

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
      .select('tenant_id', ...selectLimits(knex))
      .whereRaw(
        `coalesce(${LIMIT_NAMES.map(
          name => `to_jsonb(tenants) ->> '${name}'`,
        ).join(', ')}) is not null`,
      ),
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

import type { Knex } from 'knex';
import type { OwnLimits } from '../pool/TenantLimits';
import type { TenancyPool } from '../pool/TenancyPool';
import type { Tenant } from './Tenant';

/** The fields of a tenant that hold its limits, and the most that each may be. */
export const LIMIT_FIELDS = {
  concurrency: 10_000,
  requests_per_second: 1_000_000,
  burst: 1_000_000,
} as const satisfies Partial<Record<keyof Tenant, number>>;

export type LimitField = keyof typeof LIMIT_FIELDS;

export const LIMIT_NAMES = Object.keys(LIMIT_FIELDS) as LimitField[];

/**
 * The columns of the limits. They are null where the table lacks them: a migration that has
 * not come to the end of phase 5, or was completed by an earlier version, has not added them.
 */
export function selectLimits(knex: Knex): Knex.Raw[] {
  return LIMIT_NAMES.map(name =>
    knex.raw(`to_jsonb(tenants) -> '${name}' as ${name}`),
  );
}

interface LimitRow extends Pick<Tenant, LimitField> {
  tenant_id: string;
}

/** The limits of the tenants that have any of their own, by id. */
export async function readTenantLimits(
  pool: Pick<TenancyPool, 'query'>,
): Promise<Map<string, OwnLimits>> {
  // Of the registry, which has one row for each tenant.
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

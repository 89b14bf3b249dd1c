/**
 * The sequence, beside the engine's tables, that spares most inserts a count of the tenant's
 * entities: see `adoption_reserve`.
 */
export const QUOTA_SEQUENCE = 'tenancy_adoption_quota';

/** Says that a tenant has no room. Retries look for it. */
export const NO_ROOM = '54000';

/** A new sequence has counted nothing: the first insert counts. */
export function createQuotaStatement(schema: string): string {
  return `create sequence if not exists ${schema}.${QUOTA_SEQUENCE} minvalue 0 start 4503599627370496`;
}

export function dropQuotaStatement(schema: string): string {
  return `drop sequence if exists ${schema}.${QUOTA_SEQUENCE}`;
}

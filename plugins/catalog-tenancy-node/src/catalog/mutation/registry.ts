import { NotAllowedError, NotFoundError } from '@backstage/errors';
import type { TenantTransaction } from '../../database';

/**
 * The `max_entities` of the tenant; null if nothing limits it.
 *
 * The application may not lock rows of the registry, so this is asked again at the
 * end of a mutation. A tenant that is deleted after that was still active when the
 * mutation was made.
 *
 * @throws `NotFoundError` if there is no such active tenant
 */
export async function readMaxEntities(
  transaction: TenantTransaction,
): Promise<number | null> {
  const { knex, tenantId } = transaction;
  const [tenant] = await transaction.query<{ max_entities: number | null }>(
    knex('tenants')
      .where('tenant_id', tenantId)
      .whereNull('deleted_at')
      .select('max_entities'),
  );
  if (!tenant) {
    throw new NotFoundError(`There is no active tenant ${tenantId}`);
  }
  return tenant.max_entities;
}

/**
 * @param grows - whether there are more live entities than before. Others may be
 * changed even where a limit was lowered below what the tenant has
 * @throws `NotAllowedError` if the tenant has more live entities than it may have;
 * `NotFoundError` if it is not active any more
 */
export async function checkTenantAtEnd(
  transaction: TenantTransaction,
  { grows }: { grows: boolean },
): Promise<void> {
  const maxEntities = await readMaxEntities(transaction);
  if (!grows || maxEntities === null) {
    return;
  }
  const [{ live }] = await transaction.query<{ live: number }>(
    transaction
      .table('entities')
      .whereNull('deleted_at')
      .select(transaction.knex.raw('count(*)::int as live')),
  );
  if (live > maxEntities) {
    throw new NotAllowedError(
      `The tenant would have ${live} entities, and may have ${maxEntities} (max_entities)`,
    );
  }
}

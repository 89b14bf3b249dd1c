import type { AdminDatabase, AdminTransaction } from '../database';
import { lockTenant } from './mutation';

/**
 * How many entities of a tenant a purge has removed.
 *
 * @public
 */
export interface PurgedTenant {
  /** A UUID. */
  tenant_id: string;
  /** By which people know the tenant. It may be a deleted one. */
  tenant_slug: string;
  /** Entities that are gone for good, as far as the purge came. */
  purged: number;
}

const REASON = 'purge deleted entities';

// Those of deleted tenants too: a tenant that is restored has its live entities.
// There is no time as long ago as the largest number of days: without a bound, one
// tenant with such a number would fail the purge of all. It is more than 2,700 years.
const EXPIRED = `e.deleted_at < now() - make_interval(days => least(t.entity_ttl_days, 1000000))`;

/**
 * Removes the entities for good that were deleted longer ago than their tenant's
 * `entity_ttl_days`, with whatever belongs to them. A tenant without that number
 * keeps them.
 *
 * Each batch is a transaction of its own on the administrator's path, and keeps
 * mutations of its tenant waiting, so that no entity is removed that comes back.
 * Whatever was removed stays so if a later batch fails.
 *
 * @param options - `batchSize`: 1000 by default; `signal`: stops it before the next
 * batch
 * @returns the tenants that had such entities, ordered by slug
 * @throws like {@link AdminDatabase.run}
 * @public
 */
export async function purgeDeletedEntities(
  admin: AdminDatabase,
  options: { batchSize?: number; signal?: AbortSignal } = {},
): Promise<PurgedTenant[]> {
  const { batchSize = 1_000, signal } = options;
  const tenants = await admin.run(REASON, findTenants);
  const purged: PurgedTenant[] = [];
  for (const tenant of tenants) {
    let count = 0;
    let last = batchSize;
    while (last === batchSize && !signal?.aborted) {
      last = await admin.run(REASON, transaction =>
        purgeBatch(transaction, tenant.tenant_id, batchSize),
      );
      count += last;
    }
    purged.push({ ...tenant, purged: count });
  }
  return purged;
}

async function findTenants(
  transaction: AdminTransaction,
): Promise<Array<Omit<PurgedTenant, 'purged'>>> {
  return transaction.query(
    transaction.knex.raw(
      `select t.tenant_id, t.tenant_slug from tenants t
        where exists (select from entities e
                       where e.tenant_id = t.tenant_id and ${EXPIRED})
        order by t.tenant_slug`,
    ),
  );
}

/**
 * The lock comes first: see {@link lockTenant}. Then rows are locked that nobody
 * reads, for as long as their removal takes.
 */
async function purgeBatch(
  transaction: AdminTransaction,
  tenantId: string,
  batchSize: number,
): Promise<number> {
  const { knex } = transaction;
  await transaction.query(lockTenant(knex, tenantId));
  const removed = await transaction.query<{ entity_id: string }>(
    knex.raw(
      `delete from entities
        where tenant_id = ? and deleted_at is not null and entity_id = any (array(
          select e.entity_id from entities e join tenants t on t.tenant_id = e.tenant_id
           where e.tenant_id = ? and ${EXPIRED}
           order by e.deleted_at limit ?))
       returning entity_id`,
      [tenantId, tenantId, batchSize],
    ),
  );
  return removed.length;
}

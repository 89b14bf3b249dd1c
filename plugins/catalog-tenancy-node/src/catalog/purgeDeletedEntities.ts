import type {
  AdminDatabase,
  AdminTransaction,
} from '../database/AdminDatabase';

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
const TENANTS_AT_ONCE = 50;

// Those of deleted tenants too: a tenant that is restored has its live entities.
// There is no time as long ago as the largest number of days: without a bound, one
// tenant with such a number would fail the purge of all. It is more than 2,700 years.
const EXPIRED = `e.deleted_at < now() - make_interval(days => least(t.entity_ttl_days, 1000000))`;

/**
 * Removes the entities for good that were deleted longer ago than their tenant's
 * `entity_ttl_days`, with whatever belongs to them. A tenant without that number
 * keeps them.
 *
 * Each batch is one transaction on the administrator's path. Whatever was removed stays so
 * if a later batch fails.
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
  const tenants = await findTenants(admin, signal);
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

type Tenant = Omit<PurgedTenant, 'purged'>;

/**
 * The tenants that have such entities. Each is looked at by itself, and some in a
 * transaction: one query about all of them would lock the partitions of every tenant
 * at once, and with hundreds of them there is no room for so many locks.
 */
async function findTenants(
  admin: AdminDatabase,
  signal: AbortSignal | undefined,
): Promise<Tenant[]> {
  const tenants = await admin.run(REASON, ({ knex, query }) =>
    query<Tenant>(
      knex('tenants')
        .whereNotNull('entity_ttl_days')
        .orderBy('tenant_slug')
        .select('tenant_id', 'tenant_slug'),
    ),
  );
  const found: Tenant[] = [];
  for (
    let at = 0;
    at < tenants.length && !signal?.aborted;
    at += TENANTS_AT_ONCE
  ) {
    const some = tenants.slice(at, at + TENANTS_AT_ONCE);
    await admin.run(REASON, async transaction => {
      for (const tenant of some) {
        if (await hasExpired(transaction, tenant.tenant_id)) {
          found.push(tenant);
        }
      }
    });
  }
  return found;
}

async function hasExpired(
  { knex, query }: AdminTransaction,
  tenantId: string,
): Promise<boolean> {
  const expired = await query(
    knex.raw(
      `select from entities e join tenants t on t.tenant_id = e.tenant_id
        where e.tenant_id = ? and ${EXPIRED} limit 1`,
      [tenantId],
    ),
  );
  return expired.length > 0;
}

/**
 * Locks deleted rows until the commit, which no read shows. Where a row was revived meanwhile,
 * PostgreSQL checks the condition of the DELETE again, and leaves it.
 *
 * Foreign keys are checked with a plan for this tenant: the generic one, which each connection
 * makes once, would lock the partitions of all tenants.
 */
async function purgeBatch(
  transaction: AdminTransaction,
  tenantId: string,
  batchSize: number,
): Promise<number> {
  const { knex } = transaction;
  await transaction.query(
    knex.raw(`select set_config('plan_cache_mode', 'force_custom_plan', true)`),
  );
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

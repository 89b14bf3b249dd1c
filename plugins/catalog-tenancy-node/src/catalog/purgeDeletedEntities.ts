import type {
  AdminDatabase,
  AdminTransaction,
} from '../database/AdminDatabase';
import { isAboutStatement } from '../pool/errors';

/**
 * How many entities of a tenant a purge has removed.
 *
 * @public
 */
export interface PurgedTenant {
  /** A UUID. */
  tenant_id: string;
  /** The tenant's slug. The tenant may be deleted. */
  tenant_slug: string;
  /** How many entities were removed before the purge ended. */
  purged: number;
  /** Why the purge of this tenant has ended, if PostgreSQL refused it. */
  error?: Error;
}

const REASON = 'purge deleted entities';
const TENANTS_AT_ONCE = 50;

// Includes deleted tenants: a restored tenant gets back its live entities only. `least` bounds
// the days (to 2,700 years), because `now() - interval` fails for the largest integers, and one
// such tenant would stop the purge of all.
const EXPIRED = `e.deleted_at < now() - make_interval(days => least(t.entity_ttl_days, 1000000))`;

/**
 * Removes entities that were deleted more than `entity_ttl_days` of their tenant ago, with
 * their dependent rows. A tenant without `entity_ttl_days` keeps them.
 *
 * Each batch is one transaction on the administrator's path. If PostgreSQL refuses one, earlier
 * batches stay committed, and the next tenant follows.
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
    const result: PurgedTenant = { ...tenant, purged: 0 };
    purged.push(result);
    let last = batchSize;
    while (last === batchSize && !signal?.aborted) {
      try {
        last = await admin.run(REASON, transaction =>
          purgeBatch(transaction, tenant.tenant_id, batchSize),
        );
        result.purged += last;
      } catch (error) {
        if (!isAboutStatement(error)) {
          throw error;
        }
        result.error = error;
        break;
      }
    }
  }
  return purged;
}

type Tenant = Omit<PurgedTenant, 'purged' | 'error'>;

/**
 * The tenants with expired entities. One query for all tenants would lock the partitions of all
 * at once and exceed max_locks_per_transaction, so each tenant is queried by itself, 50 in a
 * transaction.
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
 * Locks the deleted rows until the commit; reads do not return them. If a row was revived
 * meanwhile, PostgreSQL evaluates the DELETE's condition again and skips it.
 *
 * `force_custom_plan` makes foreign keys plan for this tenant: their generic plan would lock
 * the partitions of all tenants.
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

import type {
  AdminDatabase,
  AdminTransaction,
} from '../database/AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { lockActiveTenant, type TenantKey } from '../tenants/activeTenant';
import { notifyStatement } from '../tenants/ChangeListener';
import type { TenantMembers } from './TenantMembers';

/** The dependencies of {@link changeMembers}. */
export interface MemberDatabase {
  pool: TenancyPool;
  admin: AdminDatabase;
  /** The cache of this process, invalidated directly; other processes are notified by NOTIFY. */
  members: Pick<TenantMembers, 'forget'>;
}

/** A change to the members of one tenant, whose row is locked. */
export interface MemberChange {
  transaction: AdminTransaction;
  tenantId: string;
  tenantSlug: string;
}

/**
 * Changes the members of an active tenant as the administrator, and invalidates all caches. The
 * lock on the tenant's row prevents two changes from each removing one of the last two admins.
 *
 * @throws NotFoundError if there is no such tenant, or it is deleted
 */
export async function changeMembers<T>(
  { pool, admin, members }: MemberDatabase,
  reason: string,
  tenant: TenantKey,
  work: (change: MemberChange) => Promise<T>,
): Promise<T> {
  let changed: string | undefined;
  try {
    return await admin.run(reason, async transaction => {
      const locked = await lockActiveTenant(transaction, tenant);
      const tenantId = locked.tenant_id;
      changed = tenantId;
      const { tenant_slug: tenantSlug } = locked;
      const result = await work({ transaction, tenantId, tenantSlug });
      await transaction.query(
        notifyStatement(transaction.knex, pool.schema, { membersOf: tenantId }),
      );
      return result;
    });
  } finally {
    // Also after a failure: the commit may have taken effect although its answer was lost.
    if (changed) {
      members.forget(changed);
    }
  }
}

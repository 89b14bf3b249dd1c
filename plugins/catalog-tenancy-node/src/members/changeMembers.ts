import type {
  AdminDatabase,
  AdminTransaction,
} from '../database/AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { lockActiveTenant, type TenantKey } from '../tenants/activeTenant';
import { notifyStatement } from '../tenants/ChangeListener';
import type { TenantMembers } from './TenantMembers';

/** What changes members. */
export interface MemberDatabase {
  pool: TenancyPool;
  admin: AdminDatabase;
  /** The cache of this process, which is told at once; those of other processes are notified. */
  members: Pick<TenantMembers, 'forget'>;
}

/** A change to the members of one tenant, whose row is locked. */
export interface MemberChange {
  transaction: AdminTransaction;
  tenantId: string;
  tenantSlug: string;
}

/**
 * Changes the members of an active tenant as the administrator, and tells every cache. With the
 * tenant's row locked, two changes can't both leave the other's admin.
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
    // After a failure too: a commit may have taken effect of which the answer was lost.
    if (changed) {
      members.forget(changed);
    }
  }
}

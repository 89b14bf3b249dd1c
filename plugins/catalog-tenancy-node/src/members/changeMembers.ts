import type { AdminDatabase } from '../database/AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import type { TenantKey } from '../tenants/activeTenant';
import { changeTenant, type TenantChange } from '../tenants/changeTenant';
import type { TenantMembers } from './TenantMembers';

/** The dependencies of {@link changeMembers}. */
interface MemberDatabase {
  pool: TenancyPool;
  admin: AdminDatabase;
  /** The cache of this process, invalidated directly; other processes are notified by NOTIFY. */
  members: Pick<TenantMembers, 'forget'>;
}

/**
 * Changes the members of an active tenant, and invalidates all caches. The lock on the tenant's
 * row prevents two changes from each removing one of the last two admins.
 *
 * @throws as {@link changeTenant}
 */
export function changeMembers<T>(
  database: MemberDatabase,
  reason: string,
  tenant: TenantKey,
  work: (change: TenantChange) => Promise<T>,
  { whileAdmin }: { whileAdmin?: readonly string[] } = {},
): Promise<T> {
  return changeTenant(database, reason, tenant, work, {
    whileAdmin,
    notify: tenantId => ({ membersOf: tenantId }),
    onChanged: tenantId => database.members.forget(tenantId),
  });
}

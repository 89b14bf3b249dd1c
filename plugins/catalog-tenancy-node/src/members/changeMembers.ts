import { NotAllowedError } from '@backstage/errors';
import type { AdminDatabase } from '../database/AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import type { TenantKey } from '../tenants/activeTenant';
import { changeTenant, type TenantChange } from '../tenants/changeTenant';
import type { TenantMembers } from './TenantMembers';

/** The dependencies of {@link changeMembers}. */
export interface MemberDatabase {
  pool: TenancyPool;
  admin: AdminDatabase;
  /** The cache of this process, invalidated directly; other processes are notified by NOTIFY. */
  members: Pick<TenantMembers, 'forget'>;
}

/**
 * Changes the members of an active tenant, and invalidates all caches. The lock on the tenant's
 * row prevents two changes from each removing one of the last two admins.
 *
 * @throws NotFoundError as {@link changeTenant}
 */
export function changeMembers<T>(
  database: MemberDatabase,
  reason: string,
  tenant: TenantKey,
  work: (change: TenantChange) => Promise<T>,
): Promise<T> {
  return changeTenant(database, reason, tenant, work, {
    notify: tenantId => ({ membersOf: tenantId }),
    onChanged: tenantId => database.members.forget(tenantId),
  });
}

/**
 * Checks, once the tenant is locked, that who makes a change as one of its admins still is one. A
 * change that waited for the removal of its maker would otherwise outlast it.
 *
 * @param principals - those of the maker, in their stored form; undefined for one who need not be
 * an admin of the tenant
 */
export async function assertStillAdmin(
  { transaction, tenantId }: Omit<TenantChange, 'tenantSlug'>,
  principals: readonly string[] | undefined,
): Promise<void> {
  if (!principals) {
    return;
  }
  const admins = await transaction.query(
    transaction
      .knex('tenant_members')
      .select('principal')
      .where({ tenant_id: tenantId, role: 'admin' })
      .whereIn('principal', principals)
      .limit(1),
  );
  if (admins.length === 0) {
    throw new NotAllowedError('You are no longer an admin of this tenant');
  }
}

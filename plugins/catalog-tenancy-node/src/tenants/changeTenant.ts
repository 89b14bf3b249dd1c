import type {
  AdminDatabase,
  AdminTransaction,
} from '../database/AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { lockActiveTenant, type TenantKey } from './activeTenant';
import { notifyStatement, type RegistryChange } from './ChangeListener';

/** A change of one tenant, whose row is locked. */
export interface TenantChange {
  transaction: AdminTransaction;
  tenantId: string;
  tenantSlug: string;
}

/**
 * Changes what the registry has of an active tenant, as the administrator. The lock on the row of
 * the tenant (FOR NO KEY UPDATE) serializes changes of one tenant, and does not block checks of
 * foreign keys.
 *
 * @param options - `notify`: what other processes hear; `onChanged`: called in this process after
 * a change, also if the commit fails: it may have taken effect although its answer was lost
 * @throws NotFoundError if there is no such tenant, or it is deleted
 */
export async function changeTenant<T>(
  { pool, admin }: { pool: TenancyPool; admin: AdminDatabase },
  reason: string,
  tenant: TenantKey,
  work: (change: TenantChange) => Promise<T>,
  options: {
    notify?: (tenantId: string) => RegistryChange;
    onChanged?: (tenantId: string) => void;
  } = {},
): Promise<T> {
  const { notify, onChanged } = options;
  let changed: string | undefined;
  try {
    return await admin.run(reason, async transaction => {
      const { tenant_id: tenantId, tenant_slug: tenantSlug } =
        await lockActiveTenant(transaction, tenant);
      const result = await work({ transaction, tenantId, tenantSlug });
      changed = tenantId;
      if (notify) {
        await transaction.query(
          notifyStatement(transaction.knex, pool.schema, notify(tenantId)),
        );
      }
      return result;
    });
  } finally {
    if (changed) {
      onChanged?.(changed);
    }
  }
}

import { CustomErrorBase, NotAllowedError } from '@backstage/errors';
import type {
  AdminDatabase,
  AdminTransaction,
} from '../database/AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { lockActiveTenant, type TenantKey } from './activeTenant';
import { notifyStatement, type RegistryChange } from './ChangeListener';

/**
 * The target of a write has changed since the caller read it. HTTP status 412.
 *
 * @public
 */
export class PreconditionFailedError extends CustomErrorBase {
  /** Identifies the error in serialized form. */
  name = 'PreconditionFailedError' as const;
  /** The status that Backstage answers with. */
  readonly statusCode = 412;
}

/** A change of one tenant, whose row is locked. */
export interface TenantChange {
  transaction: AdminTransaction;
  tenantId: string;
  tenantSlug: string;
  tenantName: string;
}

/**
 * Changes what the registry has of an active tenant, as the administrator. The lock on the row of
 * the tenant (FOR NO KEY UPDATE) serializes changes of one tenant, and does not block checks of
 * foreign keys.
 *
 * @param options - `whileAdmin`: the principals, in their stored form, of who makes the change as an
 * admin of the tenant, one of which must still be an admin: a change that waited for the removal of
 * its maker would outlast it; `notify`: what other processes hear; `onChanged`: called in this
 * process after a change, also if the commit fails: it may have taken effect although its answer was
 * lost
 * @throws NotFoundError if there is no such tenant, or it is deleted; NotAllowedError by `whileAdmin`
 */
export async function changeTenant<T>(
  { pool, admin }: { pool: TenancyPool; admin: AdminDatabase },
  reason: string,
  tenant: TenantKey,
  work: (change: TenantChange) => Promise<T>,
  options: {
    whileAdmin?: readonly string[];
    notify?: (tenantId: string) => RegistryChange;
    onChanged?: (tenantId: string) => void;
  } = {},
): Promise<T> {
  const { notify, onChanged, whileAdmin } = options;
  let changed: string | undefined;
  try {
    return await admin.run(reason, async transaction => {
      const locked = await lockActiveTenant(transaction, tenant);
      const tenantId = locked.tenant_id;
      if (whileAdmin) {
        await assertAdmin(transaction, tenantId, whileAdmin);
      }
      const result = await work({
        transaction,
        tenantId,
        tenantSlug: locked.tenant_slug,
        tenantName: locked.tenant_name,
      });
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

/**
 * @param demands - of `If-Match: *` and `If-None-Match: *`; under the lock, so that of two writes at
 * once that demand that there is nothing yet, one is refused
 * @throws PreconditionFailedError
 */
export function assertDemands(
  isThere: boolean,
  what: string,
  demands: readonly boolean[] = [],
): void {
  if (demands.includes(!isThere)) {
    throw new PreconditionFailedError(
      `If-Match or If-None-Match forbids this, by whether there is ${what}`,
    );
  }
}

async function assertAdmin(
  { knex, query }: AdminTransaction,
  tenantId: string,
  principals: readonly string[],
): Promise<void> {
  const admins = await query(
    knex('tenant_members')
      .select('principal')
      .where({ tenant_id: tenantId, role: 'admin' })
      .whereIn('principal', principals)
      .limit(1),
  );
  if (admins.length === 0) {
    throw new NotAllowedError('You are no longer an admin of this tenant');
  }
}

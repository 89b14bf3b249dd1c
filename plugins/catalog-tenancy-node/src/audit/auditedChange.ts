import type { AuditorServiceEvent } from '@backstage/backend-plugin-api';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { LastStatement } from '../pool/TenancyPool';
import { commonToCopies } from '../tenants/commonToCopies';
import type {
  TenantAuditRecord,
  TenantAuditStatement,
} from './TenantAuditTrail';

const { records, changing } = commonToCopies('audited-changes', () => ({
  records: new WeakMap<AuditorServiceEvent, TenantAuditRecord>(),
  changing: new AsyncLocalStorage<TenantAuditStatement>(),
}));

/**
 * Links an audit event to its record in the audit trail. The auditor that writes records calls
 * it.
 *
 * @public
 */
export function setAuditRecord(
  event: AuditorServiceEvent,
  record: TenantAuditRecord,
): void {
  records.set(event, record);
}

/**
 * Runs an operation that changes the registry of tenants. Its first administrator's transaction
 * that writes also stores the success in the audit trail, which saves a commit.
 *
 * @param describe - the details that the end of the event will add
 * @public
 */
export function auditChange<T>(
  event: AuditorServiceEvent,
  describe: () => Promise<Record<string, unknown> | undefined>,
  work: () => Promise<T>,
): Promise<T> {
  const record = records.get(event);
  return record ? changing.run(record.storeWith(describe), work) : work();
}

/** The statement that the current change sends with its commit. */
export function currentChange(): LastStatement | undefined {
  return changing.getStore();
}

/** Tells the current change which tenant its transaction has found or made. */
export function setChangedTenant(tenant: {
  tenant_id: string;
  tenant_slug: string;
}): void {
  changing.getStore()?.onTenant(tenant);
}

import type { AuditorServiceEvent } from '@backstage/backend-plugin-api';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { LastStatement } from '../pool/TenancyPool';
import type { TenantAuditRecord } from './TenantAuditTrail';

// In the registry of symbols, because whatever records events may bring a copy of this package.
const STATE = Symbol.for(
  'backstage-plugin-catalog-tenancy-node.audited-changes',
);
interface State {
  records: WeakMap<AuditorServiceEvent, TenantAuditRecord>;
  changing: AsyncLocalStorage<LastStatement>;
}
const shared = globalThis as { [STATE]?: State };
const { records, changing } = (shared[STATE] ??= {
  records: new WeakMap(),
  changing: new AsyncLocalStorage(),
});

/**
 * Says which record of an audit trail an audit event has. It is for what records events.
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
 * Runs an operation that changes the registry of tenants. Its first transaction as the
 * administrator that writes stores in the audit trail, too, that it has succeeded: that takes no
 * commit of its own.
 *
 * @param describe - what the end of the event will tell beside its beginning
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

/** What is to be stored with the change that is being made. */
export function currentChange(): LastStatement | undefined {
  return changing.getStore();
}

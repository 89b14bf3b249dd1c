export type { AdminDatabase, AdminTransaction } from './AdminDatabase';
export { AuditedAdminDatabase } from './AuditedAdminDatabase';
export { PooledTenantDatabase } from './PooledTenantDatabase';
export type {
  TenantDatabase,
  TenantQueryOptions,
  TenantScope,
  TenantSearchTable,
  TenantTable,
  TenantTransaction,
} from './TenantDatabase';

export type { AdminDatabase, AdminTransaction } from './AdminDatabase';
export { AuditedAdminDatabase } from './AuditedAdminDatabase';
export {
  AdminAccessError,
  DatabaseStatementError,
  DatabaseTimeoutError,
  DatabaseUnavailableError,
} from './errors';
export { PooledTenantDatabase } from './PooledTenantDatabase';
export { retryAfter } from './retryAfter';
export {
  TenancyPool,
  type BuildStatement,
  type PoolTransaction,
  type QuerySettings,
  type TenancyPoolOptions,
  type TransactionSettings,
} from './TenancyPool';
export type {
  TenantDatabase,
  TenantQueryOptions,
  TenantScope,
  TenantSearchTable,
  TenantTable,
  TenantTransaction,
} from './TenantDatabase';

export type { AdminDatabase, AdminTransaction } from './AdminDatabase';
export type {
  TenantDatabase,
  TenantScope,
  TenantTable,
  TenantTransaction,
} from './TenantDatabase';

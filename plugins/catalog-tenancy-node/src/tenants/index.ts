export {
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  type Tenant,
  type TenantUsage,
} from './Tenant';
export type { ActiveTenant, TenantDirectory } from './TenantDirectory';
export type {
  CreateTenant,
  ListTenants,
  TenantStore,
  UpdateTenant,
} from './TenantStore';

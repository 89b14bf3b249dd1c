export { CachingTenantDirectory } from './CachingTenantDirectory';
export type {
  CachingTenantDirectoryOptions,
  DirectoryTiming,
} from './CachingTenantDirectory';
export {
  parseCreateTenant,
  parseListTenants,
  parseUpdateTenant,
} from './input';
export {
  tenantCreatePermission,
  tenantDeletePermission,
  tenantPermissions,
  tenantReadPermission,
  tenantUpdatePermission,
} from './permissions';
export { PostgresTenantStore } from './PostgresTenantStore';
export { isTenantSlug } from './slug';
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

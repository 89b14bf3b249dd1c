export {
  createTenantMiddleware,
  refuse,
  type TenantMiddlewareOptions,
} from './createTenantMiddleware';
export { HostnameTenants } from './HostnameTenants';
export {
  assertRestrictedAccess,
  tenantTokenHandler,
} from './tenantTokenHandler';
export { TenantTokens } from './TenantTokens';

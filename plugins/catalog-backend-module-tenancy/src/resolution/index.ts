export {
  createTenantMiddleware,
  type TenantMiddlewareOptions,
} from './createTenantMiddleware';
export { requestTenant } from './requestTenant';
export {
  assertRestrictedAccess,
  tenantTokenHandler,
} from './tenantTokenHandler';

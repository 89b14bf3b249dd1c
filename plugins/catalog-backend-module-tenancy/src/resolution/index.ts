export {
  createTenantMiddleware,
  type TenantMiddlewareOptions,
} from './createTenantMiddleware';
export { requestTenant } from './requestTenant';
export { tenantTokenHandler } from './tenantTokenHandler';

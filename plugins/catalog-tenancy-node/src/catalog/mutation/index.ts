export { CatalogWriter } from './CatalogWriter';
export { lockTenant } from './tenantLock';

export { CatalogWriter } from './CatalogWriter';
export { chunksOf } from './chunksOf';
export { lockTenant } from './tenantLock';

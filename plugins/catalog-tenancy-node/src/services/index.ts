export { adminDatabaseServiceRef } from './adminDatabaseServiceRef';
export { catalogStoreServiceRef } from './catalogStoreServiceRef';
export { tenancyServiceFactory, tenancyServiceRef } from './tenancyServiceRef';
export { tenantDatabaseServiceRef } from './tenantDatabaseServiceRef';
export { tenantDirectoryServiceRef } from './tenantDirectoryServiceRef';
export { tenantStoreServiceRef } from './tenantStoreServiceRef';

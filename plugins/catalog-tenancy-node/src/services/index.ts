export { adminDatabaseServiceRef } from './adminDatabaseServiceRef';
export { catalogStoreServiceRef } from './catalogStoreServiceRef';
export { tenancyServiceRef } from './tenancyServiceRef';
export { tenantDatabaseServiceRef } from './tenantDatabaseServiceRef';
export { tenantDirectoryServiceRef } from './tenantDirectoryServiceRef';
export { tenantStoreServiceRef } from './tenantStoreServiceRef';

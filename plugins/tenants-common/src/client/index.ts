export type { TenantsApi, TenantsRequestOptions } from './TenantsApi';
export { TenantsClient } from './TenantsClient';

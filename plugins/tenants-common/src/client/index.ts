export type {
  TenantsApi,
  TenantsRequestOptions,
  TenantsWriteOptions,
} from './TenantsApi';
export { TenantsClient } from './TenantsClient';

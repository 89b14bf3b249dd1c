export {
  type TenantsApi,
  TenantsClient,
  type TenantsRequestOptions,
  type TenantsWriteOptions,
} from './TenantsClient';

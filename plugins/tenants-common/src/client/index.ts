export {
  type TenantsApi,
  TenantsClient,
  type TenantsCreateOptions,
  type TenantsRequestOptions,
  type TenantsWriteOptions,
} from './TenantsClient';

/**
 * Mocks of the services of tenancy for tests of other backend plugins, and an assertion that
 * such a plugin isolates tenants.
 *
 * @packageDocumentation
 */

export {
  assertTenantIsolation,
  type TenantIsolationOptions,
} from './assertTenantIsolation';
export { tenantDirectoryServiceMock } from './tenantDirectoryServiceMock';
export { tenantGateServiceMock } from './tenantGateServiceMock';

/**
 * Stand-ins for the services of tenancy in tests of other backend plugins, and a
 * proof that such a plugin keeps tenants apart.
 *
 * @packageDocumentation
 */

export {
  assertTenantIsolation,
  type TenantIsolationOptions,
} from './assertTenantIsolation';
export { tenantDirectoryServiceMock } from './tenantDirectoryServiceMock';
export { tenantGateServiceMock } from './tenantGateServiceMock';

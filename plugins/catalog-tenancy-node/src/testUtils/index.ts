/**
 * Mocks of the services of tenancy for tests of other backend plugins.
 *
 * @packageDocumentation
 */

export { tenantDirectoryServiceMock } from './tenantDirectoryServiceMock';
export { tenantGateServiceMock } from './tenantGateServiceMock';

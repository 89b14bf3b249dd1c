export { startTenancy, type Tenancy } from './startTenancy';
export { TenancyStartupError } from './TenancyStartupError';

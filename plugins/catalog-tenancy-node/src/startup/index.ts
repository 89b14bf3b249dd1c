export type { Tenancy } from './startTenancy';
export { TenancyStartupError } from './TenancyStartupError';

export type { Tenancy } from './startTenancy';

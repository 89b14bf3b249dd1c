export type { CatalogAdoption } from './adoption';
export type { Tenancy } from './startTenancy';

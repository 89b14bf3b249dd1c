export * from './audit';
export {
  type CatalogConfig,
  catalogConfigSchema,
  type SourceError,
  type TenantCatalogConfig,
  tenantCatalogConfigSchema,
  type TenantStatus,
  tenantStatusSchema,
} from './engines';
export * from './members';
export * from './shares';
export * from './signIn';
export * from './tenants';
export * from './usage';

export * from './audit';
export {
  catalogConfigSchema,
  tenantCatalogConfigSchema,
  tenantEngineSchema,
  tenantStatusSchema,
} from './engines';
export * from './members';
export * from './shares';
export * from './signIn';
export * from './tenants';
export * from './usage';

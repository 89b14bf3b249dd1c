// The store as it is, on a pool of its own: its service would bring a whole backend,
// of which nothing is measured here.
/* eslint-disable @backstage/no-relative-monorepo-imports */
export { PostgresCatalogStore } from '../../../plugins/catalog-tenancy-node/src/catalog/PostgresCatalogStore';
export { PooledTenantDatabase } from '../../../plugins/catalog-tenancy-node/src/database/PooledTenantDatabase';
export { TenancyPool } from '../../../plugins/catalog-tenancy-node/src/pool/TenancyPool';

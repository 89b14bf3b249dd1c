// As for the candidates; and what those who build statements are told.
/* eslint-disable @backstage/no-relative-monorepo-imports */
export * from '../candidates/library';
export type {
  TenantDatabase,
  TenantScope,
} from '../../../plugins/catalog-tenancy-node/src/database';

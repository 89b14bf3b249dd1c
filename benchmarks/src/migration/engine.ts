// What the operators' commands are made of. The public interface of the package
// goes forward only, a phase at a time; what is measured here are single steps, and
// the way back.
/* eslint-disable @backstage/no-forbidden-package-imports */
export { TenancyMigration } from 'backstage-catalog-tenancy-migrations/src/engine/TenancyMigration';
export { silentReporter } from 'backstage-catalog-tenancy-migrations/src/engine/Reporter';
export type { MigrationSettings } from 'backstage-catalog-tenancy-migrations/src/engine/Step';
export { phases } from 'backstage-catalog-tenancy-migrations/src/phases';
export { createCatalogTables } from 'backstage-catalog-tenancy-migrations/src/phases/freshDatabase';
export { backfill } from 'backstage-catalog-tenancy-migrations/src/phases/phase2_backfill/20_backfill';
export { copyRows } from 'backstage-catalog-tenancy-migrations/src/phases/phase5_partitions/30_copy';
export { firstCatchUp } from 'backstage-catalog-tenancy-migrations/src/phases/phase5_partitions/40_catch_up';
export { indexes } from 'backstage-catalog-tenancy-migrations/src/phases/phase5_partitions/50_indexes';
export { foreignKeys } from 'backstage-catalog-tenancy-migrations/src/phases/phase5_partitions/60_foreign_keys';
export { swap } from 'backstage-catalog-tenancy-migrations/src/phases/phase5_partitions/70_swap';
export { givePartition } from 'backstage-catalog-tenancy-migrations/src/partitions/givePartition';
export { rollback } from 'backstage-catalog-tenancy-migrations/src/rollback/rollback';
export { APP_ROLE } from 'backstage-catalog-tenancy-migrations/src/schema/roles';
export {
  catchAllPartition,
  defaultTenantPartition,
  partitionedName,
} from 'backstage-catalog-tenancy-migrations/src/schema/partitions';
export {
  DEFAULT_TENANT_ID,
  TENANT_TABLES,
} from 'backstage-catalog-tenancy-migrations/src/schema/tables';

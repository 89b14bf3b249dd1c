// What the operators' commands are made of. The public interface of the package
// goes forward only, a phase at a time; what is measured here are single steps, and
// the way back.
/* eslint-disable @backstage/no-relative-monorepo-imports */
/* eslint-disable no-restricted-imports -- the live writer of the tests writes here too */
export { TenancyMigration } from '../../../migrations/src/engine/TenancyMigration';
export { silentReporter } from '../../../migrations/src/Reporter';
export type { MigrationSettings } from '../../../migrations/src/engine/Step';
export { phases } from '../../../migrations/src/phases';
export { createCatalogTables } from '../../../migrations/src/schema/catalogTables';
export { backfill } from '../../../migrations/src/phases/phase2_backfill/20_backfill';
export { copyRows } from '../../../migrations/src/phases/phase5_partitions/30_copy';
export { firstCatchUp } from '../../../migrations/src/phases/phase5_partitions/40_catch_up';
export { indexes } from '../../../migrations/src/phases/phase5_partitions/50_indexes';
export { foreignKeys } from '../../../migrations/src/phases/phase5_partitions/60_foreign_keys';
export { entityTermsFill } from '../../../migrations/src/phases/phase5_partitions/90_entity_terms';
export { findDifferences } from '../../../migrations/src/phases/phase5_partitions/90_entity_terms/differences';
export {
  TERM_INDEXES,
  TERM_STORAGE,
} from '../../../migrations/src/phases/phase5_partitions/90_entity_terms/tables';
export { swap } from '../../../migrations/src/phases/phase5_partitions/70_swap';
export { givePartition } from '../../../migrations/src/partitions/move';
export { rollback } from '../../../migrations/src/rollback/rollback';
export { APP_ROLE } from '../../../migrations/src/roles';
export {
  catchAllPartition,
  defaultTenantPartition,
  partitionedName,
} from '../../../migrations/src/schema/partitions';
export {
  DEFAULT_TENANT_ID,
  TENANT_TABLES,
} from '../../../migrations/src/schema/tables';
export {
  LiveTraffic,
  TRAFFIC_TABLES,
} from '../../../migrations/src/liveTraffic/__testUtils__/LiveTraffic';
export type { Application } from '../../../migrations/src/liveTraffic/__testUtils__/Session';
export type {
  Scenario,
  Transaction,
} from '../../../migrations/src/liveTraffic/__testUtils__/Transaction';
export type { Row } from '../../../migrations/src/liveTraffic/__testUtils__/expectedRows';

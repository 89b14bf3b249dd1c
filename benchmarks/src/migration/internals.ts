// The steps that are measured, and the layout that they build.
/* eslint-disable @backstage/no-relative-monorepo-imports */
export {
  type Reporter,
  silentReporter,
} from '../../../migrations/src/Reporter';
export { copyRows } from '../../../migrations/src/phases/phase5_partitions/30_copy';
export { swap } from '../../../migrations/src/phases/phase5_partitions/70_swap';
export {
  catchAllPartition,
  defaultTenantPartition,
  partitionedName,
} from '../../../migrations/src/schema/partitions';
export {
  DEFAULT_TENANT_ID,
  TENANT_TABLES,
} from '../../../migrations/src/schema/tables';

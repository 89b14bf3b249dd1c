/**
 * Takes a single-tenant catalog database to the multi-tenant layout, in the six
 * phases of the specification, while the application goes on writing to it.
 *
 * Operators use the command line; this is what a backend uses to set up a fresh
 * database.
 *
 * @packageDocumentation
 */

export { distribute, migrateTo, status, upgrade } from './migrateTo';
export type {
  MigrateOptions,
  MigrateResult,
  MigrationStatus,
} from './migrateTo';
export { attachEngine, restoreEngineTriggers } from './adopt/attach';
export type { AttachOptions } from './adopt/attach';
export { engineSchemaOf } from './adopt/engine';
export {
  adopt,
  readAdoptedTenants,
  readAdoption,
  retryFaults,
} from './adopt/library';
export type { AdoptOptions } from './adopt/library';
export type {
  AdoptedTenantStatus,
  AdoptionFault,
  AdoptionStatus,
} from './adopt/status';
export { isDistributed } from './schema/citus';
export { examineShards } from './sharding/shards';
export type { Distribution } from './sharding/distribute';
export { connectionOfCatalog, locateCatalog } from './session/catalogLocation';
export type {
  CatalogLocation,
  ConnectionDifference,
} from './session/catalogLocation';
export {
  actingConnectionOfKnex,
  connectionOfKnex,
} from './session/connectionOfKnex';
export { isProcessLent } from './session/pooling';
export { sessionSettings } from './session/sessionSettings';
export type { DoctorExamination, DoctorFinding } from './doctor';
export type { Progress, Reporter } from './Reporter';
export { examineIsolation } from './checks/examineIsolation';
export type { Isolation, IsolationOptions } from './checks/examineIsolation';
export { describeFinding } from './checks/Finding';
export type { IsolationFinding, QueryRows } from './checks/Finding';
export { examineMaintenance } from './checks/maintenance';
export { registryChannel } from './registryChannel';
export { operatorCommand } from './operatorCommand';
export type { OperatorCommandName } from './operatorCommand';
export {
  isCountedKey,
  isOrderedKey,
  KEY_PREFIXES,
  toTermKey,
} from './phases/phase5_partitions/15_search_tables/keys';
export {
  ApplicationConnectedError,
  CancelledError,
  ConnectionLostError,
  EXIT_CODES,
  LockNotGrantedError,
  MigrationError,
  OtherOperatorError,
  RefusedError,
  VerificationError,
} from './errors';

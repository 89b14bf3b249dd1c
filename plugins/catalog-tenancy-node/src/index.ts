/**
 * Keeps the tenants of a catalog apart: the tenant-scoped database, the stores and
 * their services.
 *
 * @packageDocumentation
 */

export * from './catalog';
export * from './config';
export * from './database';
export * from './pool';
export {
  ReadReplica,
  type ReadReplicaOptions,
  type ReplicaCounts,
} from './replica/ReadReplica';
export * from './services';
export * from './startup';
export * from './tenants';

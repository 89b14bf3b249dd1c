export {
  ReadReplica,
  type ReadReplicaOptions,
  type ReplicaCounts,
} from './ReadReplica';

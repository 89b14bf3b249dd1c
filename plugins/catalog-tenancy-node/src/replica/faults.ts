import {
  DatabaseStatementError,
  DatabaseUnavailableError,
} from '../pool/errors';
import { ReplicaLostError } from './ReplicaSession';
import {
  FENCE_SQL_STATE,
  type Identity,
  type ReplicaFacts,
} from './statements';

/** Why a server is no replica of the primary that may be read, if it is none. */
export function faultOf(
  replica: ReplicaFacts,
  primary: Identity,
): string | undefined {
  if (!replica.inRecovery) {
    return 'it is no replica, or was promoted';
  }
  if (replica.systemId !== primary.systemId) {
    return 'it is a replica of another server than the primary';
  }
  if (replica.database !== primary.database) {
    return `its database is '${replica.database}', and that of the primary '${primary.database}'`;
  }
  if (replica.timeline !== primary.timeline) {
    return 'it follows another branch of history than the primary, or has not said so since a failover';
  }
  return replica.readCommitted
    ? undefined
    : `its transactions are not 'read committed', by default_transaction_isolation`;
}

/** Whether it is the server that is at fault, and not what it was asked. */
export function isOfServer(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailableError ||
    (error instanceof DatabaseStatementError &&
      error.sqlState === FENCE_SQL_STATE)
  );
}

/** Whether the primary may have an answer. A read that took too long there is over. */
export function isOfReplica(error: unknown): boolean {
  return (
    error instanceof ReplicaLostError ||
    error instanceof DatabaseUnavailableError ||
    error instanceof DatabaseStatementError
  );
}

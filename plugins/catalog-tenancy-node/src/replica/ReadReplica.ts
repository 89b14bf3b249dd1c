import {
  type BuildStatement,
  type QuerySettings,
  type TenancyPool,
} from '../pool/TenancyPool';
import {
  DatabaseStatementError,
  DatabaseUnavailableError,
} from '../pool/errors';
import { ALL_TENANTS, Freshness } from './Freshness';
import {
  type ReadReplicaOptions,
  ReplicaLostError,
  ReplicaWatch,
} from './ReplicaWatch';
import { preconditionOf, PRECONDITION_SQL_STATE } from './statements';

/**
 * How many reads went where, since the start.
 *
 * @public
 */
export interface ReplicaCounts {
  /** Answered by the replica. */
  replica: number;
  /** Answered by the primary: the replica has not replayed the tenant's last write. */
  written: number;
  /** Answered by the primary: the replica is lost or too far behind. */
  unusable: number;
  /** Answered by the primary after an error of the replica. */
  failed: number;
}

/**
 * A streaming replica of the database, for reads that may be a little older than the last
 * write. If it fails, the primary answers the read.
 *
 * @public
 */
export class ReadReplica {
  readonly #counts = { replica: 0, written: 0, unusable: 0, failed: 0 };
  readonly #freshness: Freshness;
  readonly #watch: ReplicaWatch;

  /** Starts to watch the replica, and does not wait for it. */
  static create(options: ReadReplicaOptions): ReadReplica {
    return new ReadReplica(options);
  }

  private constructor(options: ReadReplicaOptions) {
    this.#freshness = new Freshness(options.maxStalenessMs);
    this.#watch = ReplicaWatch.start({
      ...options,
      freshness: this.#freshness,
    });
  }

  /** How many reads each server has answered. */
  get counts(): ReplicaCounts {
    return { ...this.#counts };
  }

  /**
   * Records the begin of a write. Reads of the tenant go to the primary until the replica
   * has replayed the log up to the end of the write.
   *
   * @param tenantId - a UUID; all tenants without one
   * @returns a function to call at the end of the write, successful or not
   */
  writing(tenantId: string = ALL_TENANTS): () => void {
    return this.#freshness.beginWrite(tenantId);
  }

  /**
   * Runs a reading statement, on the replica if that has replayed enough.
   *
   * @param settings - for whom it runs; the id of the tenant is a UUID
   * @param onPrimary - runs it on the primary
   * @throws like {@link TenancyPool.query}
   */
  async read<TRow extends object>(
    settings: QuerySettings & { tenantId: string },
    build: BuildStatement,
    onPrimary: () => Promise<TRow[]>,
  ): Promise<TRow[]> {
    const { session } = this.#watch;
    const required = session && this.#freshness.requiredFor(settings.tenantId);
    if (!required) {
      this.#counts[session ? 'written' : 'unusable'] += 1;
      return await onPrimary();
    }
    try {
      const rows = await session.query<TRow>(build, {
        ...settings,
        precondition: preconditionOf(required),
      });
      this.#counts.replica += 1;
      return rows;
    } catch (error) {
      if (!isOfReplica(error)) {
        throw error;
      }
      this.#counts.failed += 1;
      if (isOfServer(error)) {
        this.#watch.suspect();
      }
      return await onPrimary();
    }
  }

  /** Waits for running work, and closes all connections. */
  async close(): Promise<void> {
    await this.#watch.close();
  }
}

/** Whether the primary may answer instead. A read that timed out is not repeated. */
function isOfReplica(error: unknown): boolean {
  return (
    error instanceof ReplicaLostError ||
    error instanceof DatabaseUnavailableError ||
    error instanceof DatabaseStatementError
  );
}

/** Whether the error is one of the server, not of the statement. */
function isOfServer(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailableError ||
    (error instanceof DatabaseStatementError &&
      error.sqlState === PRECONDITION_SQL_STATE)
  );
}

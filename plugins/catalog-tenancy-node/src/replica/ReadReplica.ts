import type { LoggerService } from '@backstage/backend-plugin-api';
import type { ClientConfig } from 'pg';
import type { TenancyPoolLimits } from '../config/readTenancyConfig';
import { type BuildStatement, type TenancyPool } from '../pool/TenancyPool';
import {
  DatabaseStatementError,
  DatabaseUnavailableError,
} from '../pool/errors';
import { ALL_TENANTS, Freshness } from './Freshness';
import { ReplicaLostError, ReplicaWatch } from './ReplicaWatch';
import { precondition, PRECONDITION_SQL_STATE } from './statements';

/**
 * How many reads went where, since the start.
 *
 * @public
 */
export interface ReplicaCounts {
  /** Answered by the replica. */
  replica: number;
  /** Answered by the primary: the tenant was written to, and the replica is not so far. */
  written: number;
  /** Answered by the primary: the replica is lost, or too far behind. */
  unusable: number;
  /** Tried on the replica, and answered by the primary. */
  failed: number;
}

/**
 * What a read replica is made of.
 *
 * @public
 */
export interface ReadReplicaOptions {
  /** How to connect to the primary. */
  primary: ClientConfig;
  /** How to connect to the replica. */
  replica: ClientConfig;
  /** The schema of the tables. */
  schema: string;
  /** Of the connections to the replica. */
  pool: TenancyPoolLimits;
  /** As that of the pool of the primary. */
  whenReady?: boolean;
  /** No answer is older, in milliseconds. */
  maxStalenessMs: number;
  /** Rejects where the connections to the replica do not keep tenants apart. */
  check: (pool: TenancyPool) => Promise<void>;
  /** Logs when reads begin to go to the replica, and when they stop. */
  logger: LoggerService;
}

/**
 * A replica of the database by streaming replication, for reads that may be a little
 * older than the last write.
 *
 * Its faults are not errors of a read: the primary answers then.
 *
 * @public
 */
export class ReadReplica {
  readonly #counts = { replica: 0, written: 0, unusable: 0, failed: 0 };
  readonly #freshness: Freshness;
  readonly #watch: ReplicaWatch;

  /** Begins to look for it, and does not wait for that. */
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

  /** Whether reads go there, those of tenants that were written to left aside. */
  get inUse(): boolean {
    return this.#watch.session !== undefined;
  }

  /** How many reads went where. */
  get counts(): ReplicaCounts {
    return { ...this.#counts };
  }

  /**
   * Says that rows may be written: until the replica has what is there at the end of
   * it, reads of the tenant go to the primary.
   *
   * @param tenantId - a UUID; all tenants without one
   * @returns what to call at the end of the write, whatever became of it
   */
  writing(tenantId: string = ALL_TENANTS): () => void {
    const end = this.#freshness.beginWrite(tenantId);
    return () => {
      end();
      this.#watch.wake();
    };
  }

  /**
   * Runs a statement that reads, on the replica if that is far enough.
   *
   * @param tenantId - a UUID
   * @param onPrimary - runs it on the primary
   * @throws like {@link TenancyPool.query}
   */
  async read<TRow extends object>(
    tenantId: string,
    build: BuildStatement,
    onPrimary: () => Promise<TRow[]>,
  ): Promise<TRow[]> {
    const { session } = this.#watch;
    const required = session && this.#freshness.requiredFor(tenantId);
    if (!required) {
      this.#counts[session ? 'written' : 'unusable'] += 1;
      return await onPrimary();
    }
    try {
      const rows = await session.query<TRow>(build, {
        tenantId,
        fence: precondition(required),
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

  /** Waits for what is under way, and closes all connections. */
  async close(): Promise<void> {
    await this.#watch.close();
  }
}

/** Whether the primary may have an answer. A read that took too long there is over. */
function isOfReplica(error: unknown): boolean {
  return (
    error instanceof ReplicaLostError ||
    error instanceof DatabaseUnavailableError ||
    error instanceof DatabaseStatementError
  );
}

/** Whether the fault is the server's, and not the statement's. */
function isOfServer(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailableError ||
    (error instanceof DatabaseStatementError &&
      error.sqlState === PRECONDITION_SQL_STATE)
  );
}

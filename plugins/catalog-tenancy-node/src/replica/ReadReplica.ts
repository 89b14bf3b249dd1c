import type { LoggerService } from '@backstage/backend-plugin-api';
import type { ClientConfig } from 'pg';
import type { TenancyPoolLimits } from '../config';
import type { BuildStatement, TenancyPool } from '../pool';
import { isOfReplica, isOfServer } from './faults';
import { isSame, type Sample } from './PrimaryLog';
import { PrimaryWatch } from './PrimaryWatch';
import { ReplicaWatch } from './ReplicaWatch';
import { fence } from './statements';
import { ALL_TENANTS } from './Writes';

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
  /** Is told when the replica is used, and when it no longer is. */
  logger: LoggerService;
}

/**
 * A replica of the database by streaming replication, for reads that may be a little
 * older than the last write.
 *
 * Whatever is wrong with it is no error to anybody: the primary answers then.
 *
 * @public
 */
export class ReadReplica {
  readonly #counts = { replica: 0, written: 0, unusable: 0, failed: 0 };
  readonly #primary: PrimaryWatch;
  readonly #replica: ReplicaWatch;

  /** Begins to look for it, and does not wait for that. */
  static create(options: ReadReplicaOptions): ReadReplica {
    return new ReadReplica(options);
  }

  private constructor(options: ReadReplicaOptions) {
    this.#primary = PrimaryWatch.start({
      ...options,
      connection: options.primary,
      onAnswer: () => this.#replica.wake(),
    });
    this.#replica = ReplicaWatch.start({
      ...options,
      connection: options.replica,
      primary: this.#primary,
    });
  }

  /** Whether reads go there, those of tenants that were written to left aside. */
  get inUse(): boolean {
    return this.#replica.usable !== undefined;
  }

  /** How many reads went where. */
  get counts(): ReplicaCounts {
    return { ...this.#counts };
  }

  /**
   * Says that rows may be written: until the replica has what is there at the end of
   * it, reads of the tenant go to the primary.
   *
   * @param tenantId - a UUID in lower case; all tenants without one
   * @returns what to call at the end of the write, whatever became of it
   */
  writing(tenantId: string = ALL_TENANTS): () => void {
    return this.#primary.writes.begin(tenantId);
  }

  /**
   * Runs a statement that reads, on the replica if that is far enough.
   *
   * @param tenantId - a UUID in lower case
   * @param onPrimary - runs it on the primary
   * @throws like {@link TenancyPool.query}
   */
  async read<TRow extends object>(
    tenantId: string,
    build: BuildStatement,
    onPrimary: () => Promise<TRow[]>,
  ): Promise<TRow[]> {
    const session = this.#replica.usable;
    const required = session && this.#requiredFor(tenantId);
    if (!required) {
      this.#counts[session ? 'written' : 'unusable'] += 1;
      return await onPrimary();
    }
    try {
      const rows = await session.query<TRow>(build, {
        tenantId,
        fence: fence(required),
      });
      this.#counts.replica += 1;
      return rows;
    } catch (error) {
      if (!isOfReplica(error)) {
        throw error;
      }
      this.#counts.failed += 1;
      if (isOfServer(error)) {
        this.#replica.suspect();
      }
      return await onPrimary();
    }
  }

  /** Waits for what is under way, and closes all connections. */
  async close(): Promise<void> {
    await Promise.all([this.#primary.close(), this.#replica.close()]);
  }

  /** What has to be replayed for a read of the tenant; nothing if it can't be there. */
  #requiredFor(tenantId: string): Sample | undefined {
    const required = this.#primary.required();
    const written = this.#primary.writes.coveredBy(tenantId);
    if (!required || written === undefined) {
      return required;
    }
    if (
      written === 'unknown' ||
      !isSame(written, required) ||
      written.lsn > this.#replica.replayed
    ) {
      return undefined;
    }
    return written.lsn > required.lsn ? written : required;
  }
}

import type { LoggerService } from '@backstage/backend-plugin-api';
import type { ClientConfig } from 'pg';
import type { TenancyPoolLimits } from '../config';
import { TenancyPool } from '../pool';
import { DatabaseUnavailableError } from '../pool/errors';
import { within } from '../tenants/within';
import { ANSWER_MS, createProbe } from './createProbe';
import { faultOf } from './faults';
import type { PrimaryWatch } from './PrimaryWatch';
import { QuietLogger } from './QuietLogger';
import { Repeated } from './Repeated';
import { ReplicaSession } from './ReplicaSession';
import { type ReplicaRow, selectReplica, toReplicaFacts } from './statements';
import { UseReport } from './UseReport';

// While writes are waited for, which takes a replica some milliseconds.
const CATCHING_UP_MS = 25;
const RETRY_MS = 1_000;
// What an operator has to put right is looked at less often: it is a costly look.
const RETRY_REFUSED_MS = 30_000;

interface ReplicaWatchOptions {
  connection: ClientConfig;
  schema: string;
  pool: TenancyPoolLimits;
  whenReady?: boolean;
  maxStalenessMs: number;
  check: (pool: TenancyPool) => Promise<void>;
  logger: LoggerService;
  primary: PrimaryWatch;
}

/**
 * Asks the replica again and again how far it is and whether it is one, and has
 * connections to it for as long as that is so.
 */
export class ReplicaWatch {
  readonly #options: ReplicaWatchOptions;
  readonly #primary: PrimaryWatch;
  readonly #quiet: QuietLogger;
  readonly #probeLog: QuietLogger;
  readonly #report: UseReport;
  readonly #probe: TenancyPool;
  readonly #probing: Repeated;
  readonly #startedAt = performance.now();
  #session: ReplicaSession | undefined;
  #replayed = 0n;
  #looked = false;
  #suspect = false;
  #refused = false;

  static start(options: ReplicaWatchOptions): ReplicaWatch {
    return new ReplicaWatch(options);
  }

  private constructor(options: ReplicaWatchOptions) {
    this.#options = options;
    this.#primary = options.primary;
    this.#quiet = new QuietLogger(options.logger);
    this.#probeLog = new QuietLogger(options.logger);
    this.#report = new UseReport(options.logger);
    this.#probe = createProbe({ ...options, logger: this.#probeLog });
    this.#probing = Repeated.start(
      () => this.#look(),
      () => this.#pauseMs(),
    );
  }

  /** The connections for reads, if these may go there, by what is known of it. */
  get usable(): ReplicaSession | undefined {
    const required = this.#primary.required();
    return required && !this.#suspect && this.#replayed >= required.lsn
      ? this.#session
      : undefined;
  }

  /** How far it was when it was last asked. */
  get replayed(): bigint {
    return this.#replayed;
  }

  /** Looks at it soon, if something waits for that. The primary was just asked. */
  wake(): void {
    const writesWait = this.#session && this.#isCatchingUp();
    if (!this.#looked || writesWait) {
      this.#probing.wake();
    }
  }

  /** A read has found that something is wrong with it: none goes there until it was asked. */
  suspect(): void {
    this.#suspect = true;
    this.#probing.wake();
  }

  async close(): Promise<void> {
    await this.#probing.close();
    await Promise.all([
      this.#probe.close(),
      // A server that vanished does not say goodbye.
      within(ANSWER_MS, 'Not closed', this.#closeSession()).catch(() => {}),
    ]);
  }

  async #look(): Promise<void> {
    const primary = this.#primary.latest;
    if (!primary) {
      return;
    }
    this.#looked = true;
    try {
      const [row] = await this.#probe.query<ReplicaRow>(selectReplica);
      const facts = toReplicaFacts(row);
      const fault = faultOf(facts, primary);
      if (fault) {
        throw new Error(fault);
      }
      this.#replayed = facts.lsn;
      // Before that it may lack the tables, or the rights to them.
      if (facts.lsn >= (this.#primary.required()?.lsn ?? facts.lsn + 1n)) {
        this.#session ??= await this.#open();
      }
      this.#suspect = false;
    } catch (error) {
      this.#lose(
        error instanceof DatabaseUnavailableError
          ? this.#probeLog.last ?? error.message
          : (error as Error).message,
      );
      return;
    }
    this.#tell();
  }

  async #open(): Promise<ReplicaSession> {
    const {
      connection,
      schema,
      pool: limits,
      whenReady,
      check,
    } = this.#options;
    const pool = TenancyPool.create({
      connection,
      schema,
      pool: limits,
      whenReady,
      logger: this.#quiet,
    });
    try {
      await check(pool);
    } catch (error) {
      this.#refused = true;
      await pool.close();
      throw error;
    }
    this.#refused = false;
    return new ReplicaSession(pool);
  }

  #lose(reason: string): void {
    this.#closeSession().catch(() => undefined);
    this.#replayed = 0n;
    this.#report.lost(reason);
  }

  async #closeSession(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.lose();
  }

  #tell(): void {
    const { maxStalenessMs } = this.#options;
    if (this.usable) {
      this.#report.used();
    } else if (!this.#primary.required()) {
      this.#report.lost('the primary does not tell how far it is');
    } else if (
      this.#session ||
      performance.now() - this.#startedAt > maxStalenessMs
    ) {
      this.#report.lost(`it is more than ${maxStalenessMs} ms behind`);
    }
  }

  #isCatchingUp(): boolean {
    return this.#primary.writes.reachBeyond(this.#replayed);
  }

  #pauseMs(): number {
    if (!this.#session) {
      return this.#refused ? RETRY_REFUSED_MS : RETRY_MS;
    }
    return this.#isCatchingUp() ? CATCHING_UP_MS : this.#primary.intervalMs;
  }
}

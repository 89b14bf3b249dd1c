import type { LoggerService } from '@backstage/backend-plugin-api';
import type { TenantEngineStatus } from 'backstage-plugin-catalog-tenancy-node';
import { describeFailure } from '../engine/failures';
import type { TenantLeases } from '../leases/ProcessLeases';
import type {
  DeploymentFacts,
  EngineNote,
  EngineStatusStore,
} from './EngineStatusStore';

/** Intervals, in milliseconds. */
export interface RecorderTiming {
  /** How long changes are gathered for one statement; 500 by default. */
  gatherMs: number;
  /** How often a tenant's last full run is written at most; 60,000 by default. */
  caughtUpMs: number;
  /** The interval of reading the database for metrics; 60,000 by default. */
  sampleMs: number;
}

/** The maximum of tenants in one read of due items. */
const TENANTS_PER_SAMPLE = 100;
const RETRY_MS = 5_000;

/** An engine whose background work this process does. */
export interface HeldEngine {
  tenantId: string;
  state: TenantEngineStatus['state'];
  isPaused: boolean;
  /** Whether it is stopped until it is due. */
  isAsleep: boolean;
}

/** The values of the metrics: a few numbers, independent of the number of tenants. */
export interface Observations {
  engines: HeldEngine[];
  /** For how long the oldest item of each tenant was due when it was last looked at, in ms. */
  lagsMs: Map<string, number>;
  /** `undefined` before the first read. */
  deployment?: DeploymentFacts;
}

/**
 * Writes the status of the engines whose leases this process holds, and reads at intervals how
 * far they are behind. No caller waits for it or fails with it: a failed write is repeated
 * later.
 */
export class EngineStatusRecorder {
  readonly #onFailure: () => void;
  readonly #timing: RecorderTiming;
  readonly #notes = new Map<string, EngineNote>();
  readonly #unwritten = new Set<string>();
  readonly #caughtUpWrittenAt = new Map<string, number>();
  #lags = new Map<string, number>();
  #deployment?: DeploymentFacts;
  #held: () => HeldEngine[] = () => [];
  #sampled = new Set<string>();
  #writing?: NodeJS.Timeout;
  #sampling?: NodeJS.Timeout;
  #stopListening?: () => void;
  #lastWrite: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(
    private readonly options: {
      store: Pick<EngineStatusStore, 'write' | 'readDue' | 'readDeployment'>;
      leases: TenantLeases;
      logger: LoggerService;
      /** Called when an engine of this process has failed. */
      onFailure?: () => void;
      timing?: Partial<RecorderTiming>;
    },
  ) {
    this.#onFailure = options.onFailure ?? (() => undefined);
    this.#timing = {
      gatherMs: 500,
      caughtUpMs: 60_000,
      sampleMs: 60_000,
      ...options.timing,
    };
  }

  /** @param held - the engines whose background work this process does at the moment */
  start(held: () => HeldEngine[]): void {
    this.#held = held;
    // A row says which process wrote it.
    this.#stopListening = this.options.leases.onChange(() =>
      this.#writeSoon([...this.#notes.keys()]),
    );
    this.#sampleLater(0);
  }

  /** Records the new status of an engine. */
  changed(tenantId: string, { state, reason }: TenantEngineStatus): void {
    if (state === 'failed') {
      this.#onFailure();
    }
    const before = this.#notes.get(tenantId);
    this.#notes.set(tenantId, {
      ...before,
      tenantId,
      state,
      reason,
      ...(state === 'failed' && { lastError: reason, lastErrorAt: new Date() }),
    });
    this.#writeSoon([tenantId]);
  }

  /** Records that an engine has no item due and none in work. */
  caughtUp(tenantId: string): void {
    const note = this.#notes.get(tenantId);
    if (!note) {
      return;
    }
    note.caughtUpAt = new Date();
    this.#lags.set(tenantId, 0);
    const writtenAt = this.#caughtUpWrittenAt.get(tenantId) ?? -Infinity;
    if (performance.now() - writtenAt >= this.#timing.caughtUpMs) {
      this.#caughtUpWrittenAt.set(tenantId, performance.now());
      this.#writeSoon([tenantId]);
    }
  }

  /** Forgets a tenant that has no engine any more. */
  forget(tenantId: string): void {
    this.#notes.delete(tenantId);
    this.#unwritten.delete(tenantId);
    this.#caughtUpWrittenAt.delete(tenantId);
  }

  /** The known values, without reading the database. */
  observe(): Observations {
    return {
      engines: this.#held(),
      lagsMs: this.#lags,
      deployment: this.#deployment,
    };
  }

  /** Reads the database now, and records which engines have caught up. */
  async sample(): Promise<void> {
    // A paused engine is behind on purpose, and a sleeping one is not behind.
    const active = this.#held().filter(
      ({ isAsleep, isPaused }) => !isPaused && !isAsleep,
    );
    const ids = new Set(active.map(({ tenantId }) => tenantId));
    this.#lags = new Map([...this.#lags].filter(([id]) => ids.has(id)));
    this.#deployment = await this.options.store.readDeployment();
    const due = await this.options.store.readDue(this.#nextOf(active));
    const now = Date.now();
    const running = new Set(
      active
        .filter(({ state }) => state === 'running')
        .map(({ tenantId }) => tenantId),
    );
    for (const [tenantId, oldest] of due) {
      this.#lags.set(tenantId, oldest ? Math.max(0, now - +oldest) : 0);
      if (oldest === null && running.has(tenantId)) {
        this.caughtUp(tenantId);
      }
    }
  }

  /** Stops; pending writes are dropped, and what is read is ignored. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopListening?.();
    clearTimeout(this.#writing);
    clearTimeout(this.#sampling);
    await this.#lastWrite;
  }

  /** The tenants of the next read, in rotation. */
  #nextOf(active: HeldEngine[]): string[] {
    const ids = active.map(({ tenantId }) => tenantId);
    let next = ids.filter(id => !this.#sampled.has(id));
    if (next.length === 0) {
      this.#sampled.clear();
      next = ids;
    }
    next = next.slice(0, TENANTS_PER_SAMPLE);
    next.forEach(id => this.#sampled.add(id));
    return next;
  }

  #sampleLater(ms: number): void {
    if (this.#isStopped) {
      return;
    }
    this.#sampling = setTimeout(() => {
      this.sample()
        .catch(error => this.#warn('read', error))
        .then(() => this.#sampleLater(this.#timing.sampleMs));
    }, ms).unref();
  }

  #writeSoon(tenantIds: string[], ms = this.#timing.gatherMs): void {
    tenantIds.forEach(id => this.#unwritten.add(id));
    if (!this.#writing && !this.#isStopped && this.#unwritten.size > 0) {
      this.#writing = setTimeout(() => {
        this.#lastWrite = this.#lastWrite.then(() => this.#write());
      }, ms).unref();
    }
  }

  async #write(): Promise<void> {
    this.#writing = undefined;
    const ids = [...this.#unwritten];
    this.#unwritten.clear();
    const notes = ids
      // Those of other tenants are written by the process with their lease.
      .filter(id => this.options.leases.isHeld(id))
      .flatMap(id => this.#notes.get(id) ?? []);
    if (notes.length === 0) {
      return;
    }
    try {
      await this.options.store.write(notes);
    } catch (error) {
      this.#warn('written', error);
      this.#writeSoon(ids, RETRY_MS);
    }
  }

  #warn(what: 'read' | 'written', error: unknown): void {
    if (this.#isStopped) {
      return;
    }
    this.options.logger.warn(
      `The status of engines can't be ${what} at the moment: ${describeFailure(
        error,
      )}`,
    );
  }
}

import type { LoggerService } from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import type {
  ActiveTenant,
  TenantEngineStatus,
} from 'backstage-plugin-catalog-tenancy-node';
import { AsyncResource } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { describeFailure } from './failures';
import type { StopOptions, TenantEngine } from './TenantEngine';
import { rejectionOf } from '../work/rejectionOf';
import type { StartQueue } from '../work/StartQueue';

/** Pauses and deadlines, in milliseconds. */
export interface SupervisionTiming {
  /** The time limit of a start; 60,000 by default. */
  startMs: number;
  /** The time limit of a stop, in which the process may end; 10,000 by default. */
  stopMs: number;
  /** The pause after the first failure, doubled with each further one; 1,000 by default. */
  shortestPauseMs: number;
  /** The longest such pause; 300,000 by default. */
  longestPauseMs: number;
  /**
   * After how long without a failure the pause starts from the shortest again; 60,000 by
   * default.
   */
  stableMs: number;
}

export const SUPERVISION_TIMING: SupervisionTiming = {
  startMs: 60_000,
  stopMs: 10_000,
  shortestPauseMs: 1_000,
  longestPauseMs: 300_000,
  stableMs: 60_000,
};

interface SupervisedEngineOptions {
  tenant: ActiveTenant;
  /** In messages; `engine` by default. */
  name?: string;
  logger: LoggerService;
  /** Makes the engine's tables ready before each start, if the start does not. */
  tables?: {
    /** It fails with the reason of the signal once that aborts. */
    ready(tenant: ActiveTenant, signal: AbortSignal): Promise<void>;
    /** Prefers the tables of this tenant, because a request waits for it. */
    hurry(tenantId: string): void;
  };
  /** The queue of starts. */
  queue: StartQueue;
  /** Starts the engine, or gives up when the signal says so. */
  start: (signal: AbortSignal) => Promise<TenantEngine>;
  timing: SupervisionTiming;
  /** Called with each status; must not throw. */
  onStatus?: (status: TenantEngineStatus) => void;
}

/**
 * An engine outlives the request for which it is started, which may be one of another tenant: its
 * calls would be refused as calls of that request.
 */
const outside = new AsyncResource('SupervisedEngine');

/** The abort reason for a start that is to be repeated at once. */
const RESTART = Symbol('restart');

/**
 * Keeps the engine of one tenant running: starts it, restarts it after a failure with growing
 * pauses, and stops it in the end.
 */
export class SupervisedEngine {
  readonly tenant: ActiveTenant;
  readonly #name: string;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  #interruption = new AbortController();
  #engine?: TenantEngine;
  #stopOptions?: StopOptions;
  #status: TenantEngineStatus = { state: 'starting' };
  #waiting: (() => void)[] = [];

  /** Starts at once and never throws; failures are in {@link status}. */
  static run(options: SupervisedEngineOptions): SupervisedEngine {
    return new SupervisedEngine(options);
  }

  private constructor(private readonly options: SupervisedEngineOptions) {
    this.tenant = options.tenant;
    this.#name = options.name ?? 'engine';
    this.#ended = outside.runInAsyncScope(() => this.#run());
  }

  get status(): TenantEngineStatus {
    return this.#status;
  }

  /** The engine, while it runs. */
  get engine(): TenantEngine | undefined {
    return this.#engine;
  }

  /** Starts the engine again, such as with another configuration. */
  restart(): void {
    this.#interruption.abort(RESTART);
  }

  /** Starts the engine again after a pause, since it can no longer work. */
  fail(reason: Error): void {
    // Several requests may notice it, and none of them is about the next engine.
    if (this.#engine) {
      this.#interruption.abort(reason);
    }
  }

  /**
   * Resolves once the engine is no longer starting, or after the time given. An engine that
   * waits for its turn to start is next.
   */
  async settled(withinMs: number): Promise<void> {
    if (this.#status.state !== 'starting') {
      return;
    }
    this.options.tables?.hurry(this.tenant.tenantId);
    this.options.queue.hurry(this.tenant.tenantId);
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, withinMs);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Never rejects; the options are those of {@link TenantEngine.stop}. */
  async stop(options?: StopOptions): Promise<void> {
    this.#stopOptions = options;
    this.#stopping.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted; ) {
      this.#interruption = new AbortController();
      const interrupted = AbortSignal.any([signal, this.#interruption.signal]);
      let startedAt = Date.now();
      try {
        this.#begin();
        // Outside of the queue and of the time limit of a start, because it may take minutes. A
        // change of the configuration does not end it: the tables do not depend on it.
        await this.options.tables?.ready(this.tenant, signal);
        startedAt = Date.now();
        this.#engine = await this.options.queue.run(
          this.tenant.tenantId,
          interrupted,
          () => this.#startWithin(interrupted),
        );
        this.#set({ state: 'running' });
        await rejectionOf(interrupted);
      } catch (error) {
        // A new configuration, which may mend the failure, comes at any time from now on.
        this.#interruption = new AbortController();
        await this.#stopEngine();
        if (error === RESTART) {
          failures = 0;
        } else if (!signal.aborted) {
          const wasStable =
            Date.now() - startedAt > this.options.timing.stableMs;
          failures = wasStable ? 1 : failures + 1;
          await this.#pause(toError(error), failures);
        }
      }
    }
    this.#set({ state: 'stopped' });
  }

  async #startWithin(interrupted: AbortSignal): Promise<TenantEngine> {
    const { startMs } = this.options.timing;
    const deadline = new AbortController();
    const timer = setTimeout(
      () =>
        deadline.abort(
          new Error(`It has not started within ${startMs / 1000} seconds`),
        ),
      startMs,
    );
    try {
      return await this.options.start(
        AbortSignal.any([interrupted, deadline.signal]),
      );
    } finally {
      clearTimeout(timer);
    }
  }

  async #pause(error: Error, failures: number): Promise<void> {
    const { shortestPauseMs, longestPauseMs } = this.options.timing;
    const pauseMs = Math.min(
      shortestPauseMs * 2 ** (failures - 1),
      longestPauseMs,
    );
    const reason = describeFailure(error);
    this.options.logger.error(
      `The ${this.#name} has failed and starts again in ${
        pauseMs / 1000
      } seconds: ${reason}`,
    );
    this.#set({
      state: 'failed',
      reason,
      nextAttemptAt: new Date(Date.now() + pauseMs),
    });
    await delay(pauseMs, undefined, {
      signal: AbortSignal.any([
        this.#stopping.signal,
        this.#interruption.signal,
      ]),
    }).catch(() => undefined);
  }

  async #stopEngine(): Promise<void> {
    const engine = this.#engine;
    this.#engine = undefined;
    if (engine && !this.#stopping.signal.aborted) {
      // Requests wait for what comes next.
      this.#begin();
    }
    try {
      const stopped = engine?.stop(this.#stopOptions);
      await (this.#stopOptions?.mayFinish
        ? stopped
        : // A module that never shuts down has neither connections nor tasks any more.
          Promise.race([
            stopped,
            delay(this.options.timing.stopMs, undefined, { ref: false }),
          ]));
    } catch (error) {
      this.options.logger.warn(
        `The ${this.#name} did not stop: ${describeFailure(error)}`,
      );
    }
  }

  #begin(): void {
    this.#status = { state: 'starting' };
    this.options.onStatus?.(this.#status);
  }

  #set(status: TenantEngineStatus): void {
    this.#status = status;
    this.options.onStatus?.(status);
    this.#waiting.splice(0).forEach(go => go());
  }
}

import type { LoggerService } from '@backstage/backend-plugin-api';
import type { ActiveTenant } from 'backstage-plugin-catalog-tenancy-node';
import type { TenantLeases } from '../leases/ProcessLeases';
import type { WakeTimes } from '../leases/WakeTimes';
import type { MembersOfTenants } from '../members/MembersOfTenants';
import { CoalescedRefresh } from '../work/CoalescedRefresh';
import type { Hibernation } from '../work/Hibernation';
import type { WorkByTenant } from '../work/WorkByTenant';
import { describeFailure } from './failures';
import type { SupervisedEngine } from './SupervisedEngine';

/** Intervals, in milliseconds. */
export interface SleepTiming {
  /** The interval of checks of the tables and of due engines; 10,000 by default. */
  checkMs: number;
  /** After how long without a request this process may stop an engine; 600,000 by default. */
  idleMs: number;
  /**
   * After how long without a statement an engine is stopped until it is due, where it had no
   * request for `idleMs` either; 60,000 by default. Within that time it has looked for orphans.
   */
  quietMs: number;
}

/** A tenant that is to have an engine. */
export interface EngineEntry {
  tenant: ActiveTenant;
  /** The configuration from the registry, with which the engine was started. */
  fingerprint: string;
  /** The secrets that it references, as they were at the start of the engine. */
  secrets?: readonly string[];
  /** Whether an operator has paused it. */
  isPaused?: boolean;
  /** `undefined` while it sleeps, and in a process without the lease that had no request. */
  supervised?: SupervisedEngine;
  /** Of the engine, while it runs here. */
  hibernation?: Hibernation;
  /** Of an engine whose background work this process does; `undefined` until it is known. */
  sleep?: 'asleep' | 'awake';
  /** By the clock of `performance`, as far as this process knows. */
  asleepSince?: number;
  /** By the clock of `performance`. */
  lastRequestAt: number;
  /** For how long an item may be due before an engine that sleeps is started for it. */
  slackMs?: number;
}

interface EngineSleepOptions {
  /** Of this process, by tenant. */
  entries: ReadonlyMap<string, EngineEntry>;
  /** Whether engines without work run as well. */
  keepRunning: boolean;
  leases: TenantLeases;
  logger: LoggerService;
  members: Pick<MembersOfTenants, 'isBusy'>;
  timing: SleepTiming;
  /**
   * Has the engine of a tenant look for work, and starts it for that, if this process has its
   * lease.
   */
  wake: (tenantId: string) => void;
  wakes: WakeTimes;
  works: WorkByTenant;
}

/** An engine that is due sooner goes on. */
const SHORTEST_SLEEP_MS = 60_000;

/**
 * Each engine looks for work once in this time, in case a change was missed, such as one by
 * hand.
 */
const LONGEST_SLEEP_MS = 24 * 60 * 60_000;

/**
 * Stops the engines of this process that have nothing to do before they are due, and starts them
 * when they are: those whose leases it holds.
 */
export class EngineSleep {
  readonly #options: EngineSleepOptions;
  readonly #look: CoalescedRefresh;
  #isStopped = false;

  constructor(options: EngineSleepOptions) {
    this.#options = options;
    this.#look = new CoalescedRefresh(
      () => this.#startUnknown(),
      () => !this.#isStopped,
    );
  }

  /** In the background: starts what is not known to sleep, since leases may have come or gone. */
  look(): void {
    const { entries, leases, logger } = this.#options;
    for (const [tenantId, entry] of entries) {
      if (!leases.isHeld(tenantId)) {
        entry.sleep = undefined;
      }
    }
    this.#look.request().catch(error =>
      // Retried by the next check.
      logger.warn(
        `Which engines are due can't be read at the moment: ${describeFailure(
          error,
        )}`,
      ),
    );
  }

  /** Stops the engines that have nothing to do before they are due, and starts those that are. */
  async check(): Promise<void> {
    const { entries, wake, wakes } = this.#options;
    for (const entry of entries.values()) {
      if (this.#maySleep(entry)) {
        await this.#sleep(entry);
      }
    }
    if ([...entries.values()].some(({ sleep }) => sleep)) {
      (await wakes.findDue()).forEach(wake);
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#look.ended();
  }

  async #startUnknown(): Promise<void> {
    const { entries, leases, wake, wakes } = this.#options;
    const unknown = [...entries].filter(
      ([tenantId, { sleep }]) => !sleep && leases.isHeld(tenantId),
    );
    if (unknown.length === 0) {
      return;
    }
    const ids = unknown.map(([tenantId]) => tenantId);
    const toRun = new Set(await wakes.findToRun(ids));
    // Those that run for requests already.
    await wakes.awaken(
      unknown.flatMap(([id, { supervised }]) => (supervised ? [id] : [])),
    );
    // Leases that have come or gone meanwhile make the answer an old one.
    if (!this.#look.isWanted && !this.#isStopped) {
      for (const [tenantId, entry] of unknown) {
        if (toRun.has(tenantId)) {
          wake(tenantId);
        }
        entry.sleep = entry.supervised ? 'awake' : 'asleep';
        entry.asleepSince = performance.now();
      }
    }
  }

  #maySleep(entry: EngineEntry): boolean {
    const { tenant, isPaused, lastRequestAt, supervised } = entry;
    const { keepRunning, leases, members, timing, works } = this.#options;
    return (
      !keepRunning &&
      supervised?.engine?.hasTasks === false &&
      supervised.status.state === 'running' &&
      leases.isHeld(tenant.tenantId) &&
      !isPaused &&
      lastRequestAt < performance.now() - timing.idleMs &&
      works.of(tenant).isQuiet &&
      !members.isBusy(tenant.tenantId) &&
      this.#dueInMs(entry) >= SHORTEST_SLEEP_MS
    );
  }

  #dueInMs({ hibernation, slackMs }: EngineEntry): number {
    const { quietMs } = this.#options.timing;
    return hibernation?.dueInMs(quietMs, slackMs) ?? 0;
  }

  async #sleep(entry: EngineEntry): Promise<void> {
    const { entries, leases, wakes } = this.#options;
    const { fingerprint, lastRequestAt, supervised, tenant } = entry;
    const { tenantId } = tenant;
    const activity = entry.hibernation?.activity;
    // Spread, so that the engines do not all look at the same time.
    const longestMs = LONGEST_SLEEP_MS * (1 - Math.random() / 2);
    const ms = Math.min(this.#dueInMs(entry), longestMs);
    if (!(await wakes.sleep(tenantId, { config: fingerprint, ms }))) {
      return;
    }
    if (
      entries.get(tenantId) === entry &&
      entry.supervised === supervised &&
      entry.fingerprint === fingerprint &&
      entry.lastRequestAt === lastRequestAt &&
      entry.hibernation?.activity === activity &&
      leases.isHeld(tenantId)
    ) {
      entry.supervised = undefined;
      entry.sleep = 'asleep';
      entry.asleepSince = performance.now();
      // Not awaited: a request that comes now starts another one.
      supervised?.stop();
    } else {
      // A start notes that it runs, too.
      await wakes.awaken([tenantId]).catch(() => supervised?.restart());
    }
  }
}

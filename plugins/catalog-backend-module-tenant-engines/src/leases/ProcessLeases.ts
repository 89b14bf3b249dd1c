import type { LoggerService } from '@backstage/backend-plugin-api';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { applicationNameOf, type Fence, type LeaseStore } from './LeaseStore';

/** The role of a process in its deployment: all work, or only requests of users. */
export type EngineRole = 'all' | 'none';

interface StartOptions {
  logger: LoggerService;
  store: LeaseStore;
}

/** The longest interval between two checks for tenants without a process. */
const LOOK_MS = 1_000;
/** The part of a lease's time at its end that this process does not use. */
const MARGIN = 0.1;
/** The share of its tenants that a process with too many gives up in a third of a lease. */
const GENTLY = 0.05;
/** How long a stopping process waits for its work to end, in milliseconds. */
const STOP_MS = 20_000;

/** A moment by two clocks. */
interface Moment {
  /** Continues while the process is paused, and cannot be set. */
  monotonic: number;
  /** Continues also while the machine is suspended. */
  wall: number;
}

const now = (): Moment => ({
  monotonic: performance.now(),
  wall: Date.now(),
});

/**
 * Which tenants' background work this process does. The tenants of a deployment are divided among
 * its processes: each has at most one process that holds its lease.
 *
 * It renews one row of its own, each third of the time of a lease. By the clock of the
 * database the leases are others' to take when a whole such time has passed since the database
 * renewed the row. By the clocks of this process they end earlier: a tenth before that time has
 * passed since it *sent* the renewal. Both measure a length of time, and need not agree on
 * what time it is.
 */
export class ProcessLeases {
  readonly processId = randomUUID();
  /** The name of each session of background work, by which a fence finds it. */
  readonly applicationName = applicationNameOf(this.processId);
  readonly role: EngineRole;
  readonly #leaseMs: number;
  readonly #stopMs: number;
  readonly #listeners = new Set<() => void>();
  readonly #hooks = new Set<(tenantId: string) => Promise<void>>();
  readonly #fences = new Set<Fence>();
  readonly #sources = new Set<() => Promise<string[]>>();
  readonly #stopping = new AbortController();
  readonly #left = new AbortController();

  readonly #held = new Set<string>();
  /** Of the leases that the database had for this process when it was last asked which. */
  #ownDigest: string | null = null;
  /** Changes whenever all leases are lost, and when this process stops. */
  #epoch = {};
  /** When the last successful renewal was sent; `undefined` without a row. */
  #renewedAt?: Moment;
  /** Whether the leases were valid at the last call of the listeners. */
  #wasValid = false;
  #expiry?: NodeJS.Timeout;
  /**
   * No takeover before this time: after a failover, other processes may be as late as this one
   * was.
   */
  #patientUntil = -Infinity;

  #wanted = new Set<string>();
  #isStale = true;
  #wake?: () => void;
  #givenUpAt = -Infinity;
  #givingUp?: Promise<void>;

  #started?: StartOptions;
  #loops: Promise<void>[] = [];
  #stopped?: Promise<void>;

  constructor(options: { role: EngineRole; leaseMs: number; stopMs?: number }) {
    this.role = options.role;
    this.#leaseMs = options.leaseMs;
    this.#stopMs = options.stopMs ?? STOP_MS;
  }

  /**
   * Whether this process holds the lease of a tenant at this moment, by its own monotonic
   * clock: `false` as soon as another process may have taken it.
   */
  isHeld(tenantId: string): boolean {
    return this.#held.has(tenantId) && this.#isValid();
  }

  /**
   * Calls a listener whenever the result of {@link ProcessLeases.isHeld} may have changed.
   *
   * @param listener - must not throw
   * @returns a function that removes the listener
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Adds a hook that runs before this process gives a lease up for another process. The lease
   * is held until all hooks have resolved, unless it is lost meanwhile.
   *
   * @param hook - must not reject
   * @returns a function that removes the hook
   */
  beforeRelease(hook: (tenantId: string) => Promise<void>): () => void {
    this.#hooks.add(hook);
    return () => this.#hooks.delete(hook);
  }

  /**
   * Adds a fence, which ends the work of lost processes. Each pool of background work needs
   * one.
   */
  addFence(fence: Fence): void {
    this.#fences.add(fence);
  }

  /** Adds tenants with background work, which are divided among the processes. */
  addTenants(list: () => Promise<string[]>): void {
    this.#sources.add(list);
    this.refresh();
  }

  /** Starts to claim and renew leases, in the background, unless the process has the role `none`. */
  start(options: StartOptions): void {
    this.#started = options;
    if (this.role === 'all') {
      this.#loops = [this.#keepRenewing(options), this.#keepLooking(options)];
    }
  }

  /** Reads the tenants again after a change. */
  refresh(): void {
    this.#isStale = true;
    this.#wake?.();
  }

  /**
   * Lets the work of this process come to its end and gives all leases up, so that others take
   * them at once. Where the work does not end, its leases expire. It never rejects.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    // A claim that is under way begins no more work: its lease goes with the row.
    this.#epoch = {};
    this.#wake?.();
    const { logger, store } = this.#started ?? {};
    if (this.role === 'all' && store) {
      const hasEnded = await Promise.race([
        Promise.all([
          ...[...this.#held].map(id => this.#runHooks(id)),
          this.#givingUp,
        ]).then(() => true),
        delay(this.#stopMs, false, { signal: this.#left.signal, ref: false }),
      ]);
      this.#left.abort();
      // Before the row goes.
      this.#lose();
      if (hasEnded) {
        await Promise.all(this.#loops);
        await store
          .leave()
          .catch(error =>
            logger?.warn(`The leases of this process expire: ${error}`),
          );
      } else {
        logger?.warn(
          `The background work of tenants has not ended within ${
            this.#stopMs / 1000
          } seconds: its leases expire`,
        );
      }
    }
    this.#left.abort();
    await Promise.all(this.#loops);
    await store?.close().catch(() => undefined);
  }

  #isValid(): boolean {
    if (!this.#renewedAt) {
      return false;
    }
    const { monotonic, wall } = now();
    const usable = this.#leaseMs * (1 - MARGIN);
    return (
      monotonic - this.#renewedAt.monotonic < usable &&
      wall - this.#renewedAt.wall < usable
    );
  }

  async #keepRenewing(options: StartOptions): Promise<void> {
    const { signal } = this.#left;
    let hasFailed = false;
    while (!signal.aborted) {
      try {
        await this.#renew(options);
        if (hasFailed) {
          options.logger.info('The leases of tenants are renewed again');
        }
        hasFailed = false;
      } catch (error) {
        this.#patientUntil = performance.now() + this.#leaseMs;
        if (!hasFailed && !signal.aborted) {
          options.logger.warn(
            `The leases of tenants can't be renewed at the moment: ${error}`,
          );
        }
        hasFailed = true;
      }
      await delay(this.#leaseMs / (hasFailed ? 15 : 3), undefined, {
        signal,
      }).catch(() => undefined);
    }
  }

  async #renew({ logger, store }: StartOptions): Promise<void> {
    const isFirst = !this.#renewedAt;
    let sentAt = now();
    if (isFirst || !(await store.renew())) {
      if (!isFirst) {
        logger.warn(
          'This process was without the database or paused for too long, and has lost its leases',
        );
        this.#lose();
      }
      sentAt = now();
      await store.join();
    }
    if (this.#left.signal.aborted) {
      return;
    }
    this.#renewedAt = sentAt;
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(
      () => this.#announce(),
      this.#leaseMs * (1 - MARGIN) - (performance.now() - sentAt.monotonic),
    );
    this.#announce();
    if (isFirst) {
      this.#wake?.();
    }
  }

  #lose(): void {
    this.#epoch = {};
    this.#renewedAt = undefined;
    clearTimeout(this.#expiry);
    this.#held.clear();
    this.#changed();
  }

  /** Calls the listeners if the leases have become valid or invalid. */
  #announce(): void {
    if (this.#wasValid !== this.#isValid()) {
      this.#changed();
    }
  }

  #changed(): void {
    this.#wasValid = this.#isValid();
    this.#listeners.forEach(listener => listener());
  }

  async #keepLooking(options: StartOptions): Promise<void> {
    const { signal } = this.#stopping;
    let hasFailed = false;
    while (!signal.aborted) {
      try {
        if (this.#isValid()) {
          await this.#look(options);
          hasFailed = false;
        }
      } catch (error) {
        this.#isStale = true;
        if (!hasFailed && !signal.aborted) {
          options.logger.warn(
            `Tenants can't be divided among the processes at the moment: ${error}`,
          );
        }
        hasFailed = true;
      }
      if (
        !signal.aborted &&
        !(this.#isStale && !hasFailed && this.#isValid())
      ) {
        await this.#pause();
      }
    }
  }

  async #pause(): Promise<void> {
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, Math.min(LOOK_MS, this.#leaseMs / 3));
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  async #look({ logger, store }: StartOptions): Promise<void> {
    const epoch = this.#epoch;
    if (this.#isStale) {
      this.#isStale = false;
      const lists = [...this.#sources].map(list => list());
      this.#wanted = new Set((await Promise.all(lists)).flat());
    }
    let view = await store.look();
    let failure: { error: unknown } | undefined;
    if (view.hasExpired && performance.now() > this.#patientUntil) {
      // Where a lost process can't be fenced, its tenants wait, and no others.
      failure = await this.#takeOver({ logger, store }).then(
        () => undefined,
        error => ({ error }),
      );
      view = await store.look();
    }
    // A failover may lose the last changes, of which the number alone does not tell.
    const isOther =
      view.own !== this.#held.size || view.ownDigest !== this.#ownDigest;
    if (isOther && !this.#givingUp) {
      const own = await store.readOwn();
      if (epoch === this.#epoch) {
        this.#ownDigest = view.ownDigest;
        if (
          own.length !== this.#held.size ||
          own.some(id => !this.#held.has(id))
        ) {
          this.#held.clear();
          own.forEach(id => this.#held.add(id));
          this.#changed();
        }
      }
    }
    const share = Math.ceil(this.#wanted.size / Math.max(1, view.processes));
    const room = share - this.#held.size;
    if (room > 0 && view.leases < this.#wanted.size) {
      const claimed = await store.claim([...this.#wanted], room);
      // Lost and begun again meanwhile, its rows are not those of this claim.
      if (claimed.length > 0 && epoch === this.#epoch) {
        claimed.forEach(id => this.#held.add(id));
        this.#changed();
      }
    } else if (!this.#givingUp) {
      this.#giveUp(this.#choose(share), store, logger);
    }
    if (failure) {
      throw failure.error;
    }
  }

  async #takeOver({ logger, store }: StartOptions): Promise<void> {
    const lost = await store.takeOver([...this.#fences]);
    if (lost) {
      logger.warn(
        `The process ${lost.name} is gone or was paused: the background work of its ${lost.tenantIds.length} tenants goes to others`,
      );
    }
  }

  /** Tenants without an engine, and a few where others have fewer. */
  #choose(share: number): string[] {
    const unwanted = [...this.#held].filter(id => !this.#wanted.has(id));
    if (unwanted.length > 0) {
      return unwanted;
    }
    const excess = this.#held.size - share;
    if (
      excess <= 0 ||
      performance.now() - this.#givenUpAt < this.#leaseMs / 3
    ) {
      return [];
    }
    this.#givenUpAt = performance.now();
    const some = Math.max(1, Math.round(this.#held.size * GENTLY));
    // Those that it has had for the shortest time.
    return [...this.#held].slice(-Math.min(excess, some));
  }

  /** Not awaited: running work may take time to end. */
  #giveUp(tenantIds: string[], store: LeaseStore, logger: LoggerService): void {
    if (tenantIds.length === 0) {
      return;
    }
    const epoch = this.#epoch;
    const giveUp = async () => {
      await Promise.all(tenantIds.map(id => this.#runHooks(id)));
      if (epoch !== this.#epoch) {
        return;
      }
      // Before others can take them.
      tenantIds.forEach(id => this.#held.delete(id));
      this.#changed();
      await store.release(tenantIds);
    };
    this.#givingUp = giveUp()
      .catch(error => {
        logger.warn(`Leases can't be given up at the moment: ${error}`);
        // The next check finds that this process still holds them, and their work begins again.
        if (epoch === this.#epoch) {
          tenantIds.forEach(id => this.#held.delete(id));
          this.#changed();
        }
      })
      .finally(() => {
        this.#givingUp = undefined;
      });
  }

  async #runHooks(tenantId: string): Promise<void> {
    await Promise.all([...this.#hooks].map(hook => hook(tenantId)));
  }
}

/** What users of the leases need of them. */
export type TenantLeases = Pick<
  ProcessLeases,
  'isHeld' | 'onChange' | 'beforeRelease'
>;

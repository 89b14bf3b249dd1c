import type { LoggerService } from '@backstage/backend-plugin-api';
import { ServiceUnavailableError } from '@backstage/errors';
import type {
  ActiveTenant,
  TenantEngineChanges,
  TenantEngineRecord,
} from 'backstage-plugin-catalog-tenancy-node';
import type { EngineConfigs } from '../config/EngineConfigs';
import { instanceFingerprintOf } from '../config/fingerprint';
import { describeFailure, withoutSecrets } from '../engine/failures';
import type { PluginServices } from '../engine/services';
import {
  type EngineFeature,
  quiet,
  TenantEngine,
} from '../engine/TenantEngine';
import type { TenantLeases } from '../leases/ProcessLeases';
import { StartQueue } from '../work/StartQueue';
import {
  SupervisedEngine,
  SUPERVISION_TIMING,
  type SupervisionTiming,
} from '../engine/SupervisedEngine';
import { CoalescedRefresh } from '../work/CoalescedRefresh';
import type { EnginePool } from '../work/EnginePool';
import type { WorkByTenant } from '../work/WorkByTenant';
import type { KnownPlugin } from './known/KnownPlugin';
import type { PluginSchemas } from './PluginSchemas';
import type { TenantEvents } from './TenantEvents';

/** Intervals, in milliseconds. */
export interface InstancesTiming extends SupervisionTiming {
  /** The interval of checks of the registry; 60,000 by default. */
  checkMs: number;
  /**
   * After how long without a request this process stops an instance that has nothing else to do
   * here; 600,000 by default.
   */
  idleMs: number;
  /**
   * After how long this process stops an instance that was started by a request without
   * credentials, and has accepted none; 60,000 by default.
   */
  unverifiedMs: number;
  /**
   * For how long a restart waits for work such as running templates, which it would cut;
   * 600,000 by default.
   */
  drainMs: number;
  /**
   * The longest run of a scheduled task that indexes the catalog: one that began earlier may have
   * missed the last change; 300,000 by default.
   */
  longestRunMs: number;
}

interface PluginInstancesOptions {
  plugin: KnownPlugin;
  /** When each of the engines that sleep had last nothing left to do, by tenant. */
  asleep: () => Promise<ReadonlyMap<string, Date>>;
  configs: EngineConfigs;
  events: TenantEvents;
  /** The plugin, its modules, and factories of services. */
  features: EngineFeature[];
  leases: TenantLeases;
  logger: LoggerService;
  pool: EnginePool;
  /** Has the logs leave out secrets. */
  redact: (secrets: readonly string[]) => void;
  /** The tenants, without the default one. */
  registry: Pick<TenantEngineChanges, 'list' | 'onChange'>;
  schemas: PluginSchemas;
  services: PluginServices;
  timing?: Partial<InstancesTiming>;
  works: WorkByTenant;
}

interface Entry {
  tenant: ActiveTenant;
  /** The configuration with which the instance was started, once the registry was read. */
  fingerprint?: string;
  /** Why the tenant's own configuration was left out at the start, or its secrets. */
  found?: string[];
  /** Since when its restart waits, by the clock of `performance`. */
  waitsSince?: number;
  /** `undefined` while this process neither runs the tasks nor had a request. */
  supervised?: SupervisedEngine;
  /** By the clock of `performance`. */
  lastRequestAt: number;
  /** Whether an instance of it in this process has accepted a request. */
  hasAccepted?: boolean;
}

/** How many instances start at the same time. */
const STARTS = 4;

/** How many such instances run: a stranger could start those of all tenants. */
const MOST_UNVERIFIED = 20;

/**
 * The instances of one plugin in this process, of active tenants other than the default one:
 * those that had a request lately, and those with work in the background whose leases it holds.
 */
export class PluginInstances {
  readonly #options: PluginInstancesOptions;
  readonly #timing: InstancesTiming;
  readonly #entries = new Map<string, Entry>();
  readonly #queue = new StartQueue(STARTS);
  /** Reads the registry, so that earlier changes take effect. Never rejects. */
  readonly #refresh: CoalescedRefresh;
  readonly #endOfEvents: (() => void)[];
  #timer?: NodeJS.Timeout;
  /** The tenants whose instance has work without a request. */
  #busy: ReadonlySet<string> = new Set();
  /** The tenants, by slug or id, that have changed since it was looked who is; undefined for any. */
  #changed?: Set<string>;
  #isStopped = false;

  /** Starts the instances in the background. */
  static start(options: PluginInstancesOptions): PluginInstances {
    return new PluginInstances(options);
  }

  private constructor(options: PluginInstancesOptions) {
    this.#options = options;
    this.#timing = {
      ...SUPERVISION_TIMING,
      checkMs: 60_000,
      idleMs: 600_000,
      unverifiedMs: 60_000,
      drainMs: 600_000,
      longestRunMs: 300_000,
      ...options.timing,
    };
    this.#refresh = new CoalescedRefresh(
      () => this.#readRegistry(),
      () => !this.#isStopped,
    );
    const checkAgain = () => {
      if (!this.#isStopped) {
        this.#timer = setTimeout(() => {
          this.#changed = undefined;
          this.#refresh.request().then(() => {
            this.#stopIdle();
            checkAgain();
          });
        }, this.#timing.checkMs);
      }
    };
    this.#endOfEvents = [
      options.registry.onChange(change => {
        if (change) {
          Object.values<string>(change).forEach(each =>
            this.#changed?.add(each),
          );
        } else {
          this.#changed = undefined;
        }
        void this.#refresh.request();
      }),
      options.leases.onChange(() => this.#startHeld()),
    ];
    this.#refresh.request().then(checkAgain);
  }

  /**
   * The instance for a request of an active tenant; it may be starting.
   *
   * @throws ServiceUnavailableError where too many run for requests that none has accepted
   */
  find(tenantId: string, tenantSlug: string): SupervisedEngine | undefined {
    if (this.#isStopped) {
      return undefined;
    }
    const entry = this.#entryOf({ tenantId, tenantSlug });
    if (!this.#options.plugin.publicPaths || entry.hasAccepted) {
      entry.lastRequestAt = performance.now();
    } else if (!entry.supervised) {
      this.#refuseMoreUnverified();
      const { idleMs, unverifiedMs } = this.#timing;
      entry.lastRequestAt = performance.now() - idleMs + unverifiedMs;
    }
    entry.supervised ??= this.#supervise(entry.tenant);
    return entry.supervised;
  }

  /** Called when the instance of a tenant has accepted a request. */
  accepted(tenantId: string): void {
    const entry = this.#entries.get(tenantId);
    if (entry) {
      entry.lastRequestAt = performance.now();
      entry.hasAccepted = true;
    }
  }

  #refuseMoreUnverified(): void {
    const unverified = [...this.#entries.values()].filter(
      each => each.supervised && !each.hasAccepted,
    );
    if (unverified.length >= MOST_UNVERIFIED) {
      throw new ServiceUnavailableError(
        `The plugin '${
          this.#options.plugin.id
        }' has too many requests of tenants that it has not verified: send this one again in a minute`,
      );
    }
  }

  /** Stops all instances, at the end of the process. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#endOfEvents.forEach(end => end());
    await this.#refresh.ended();
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    await Promise.all(
      entries.map(({ supervised }) => supervised?.stop({ mayFinish: true })),
    );
  }

  get #name(): string {
    return `instance of the plugin '${this.#options.plugin.id}'`;
  }

  #entryOf({ tenantId, tenantSlug }: ActiveTenant): Entry {
    const known = this.#entries.get(tenantId);
    const entry = known ?? {
      tenant: { tenantId, tenantSlug },
      lastRequestAt: -Infinity,
    };
    this.#entries.set(tenantId, entry);
    return entry;
  }

  async #readRegistry(): Promise<void> {
    const { logger, registry } = this.#options;
    const startedAt = performance.now();
    const changed = this.#changed;
    this.#changed = new Set();
    try {
      const tenants = (await registry.list()).filter(
        ({ isActive }) => isActive,
      );
      const some =
        changed &&
        tenants
          .filter(
            ({ tenantId, tenantSlug }) =>
              changed.has(tenantId) || changed.has(tenantSlug),
          )
          .map(({ tenantId }) => tenantId);
      const others = [...this.#busy].filter(id => some?.includes(id) === false);
      this.#busy = new Set([...others, ...(await this.#findBusy(some))]);
      this.#apply(tenants, startedAt);
    } catch (error) {
      this.#changed = undefined;
      logger.warn(
        `The tenants can't be read at the moment: ${describeFailure(error)}`,
      );
    }
  }

  /**
   * Of all tenants, or of some: to look at all after each change of one would take as long as there
   * are tenants. An instance that was never used has nothing to do, and no schema.
   */
  async #findBusy(tenantIds?: string[]): Promise<ReadonlySet<string>> {
    const { asleep, plugin, schemas } = this.#options;
    const { background } = plugin;
    if (background === 'none' || tenantIds?.length === 0) {
      return new Set();
    }
    const found =
      typeof background === 'object'
        ? await schemas.listWithRows(background, tenantIds)
        : await schemas.list(tenantIds);
    const busy = new Set(found.map(({ tenantId }) => tenantId));
    if (background === 'after changes') {
      const ranAt = await schemas.listRuns();
      (await asleep()).forEach((at, tenantId) => {
        if ((ranAt.get(tenantId) ?? 0) > +at + this.#timing.longestRunMs) {
          busy.delete(tenantId);
        }
      });
    }
    return busy;
  }

  #apply(tenants: TenantEngineRecord[], readAt: number): void {
    if (this.#isStopped) {
      return;
    }
    const ids = new Set(tenants.map(({ tenantId }) => tenantId));
    for (const [tenantId, { lastRequestAt, supervised }] of this.#entries) {
      // A tenant that was created after the list was read may already have had a request.
      if (!ids.has(tenantId) && lastRequestAt < readAt) {
        this.#entries.delete(tenantId);
        supervised?.stop();
      }
    }
    for (const tenant of tenants) {
      const entry = this.#entryOf(tenant);
      const fingerprint = instanceFingerprintOf(tenant);
      entry.fingerprint ??= fingerprint;
      if (entry.fingerprint !== fingerprint) {
        // The integrations may have changed.
        if (this.#restart(entry)) {
          entry.fingerprint = fingerprint;
        }
      } else if (entry.found?.length) {
        this.#restartIfOther(entry, tenant).catch(() => undefined);
      } else {
        entry.waitsSince = undefined;
      }
    }
    this.#startHeld();
  }

  /**
   * Restarts the instance if the tenant's own configuration can be used since, or has other secrets.
   */
  async #restartIfOther(
    entry: Entry,
    tenant: TenantEngineRecord,
  ): Promise<void> {
    const engine = entry.supervised?.engine;
    const { found } = await this.#configOf(tenant);
    if (found.join() === entry.found?.join()) {
      entry.waitsSince = undefined;
    } else if (engine && engine === entry.supervised?.engine) {
      this.#restart(entry);
    }
  }

  async #configOf(tenant: TenantEngineRecord) {
    const { configs, plugin } = this.#options;
    const { config, fault } = await configs.configOfInstance(
      tenant,
      tenant.catalogConfig,
      plugin,
    );
    const secrets = configs.secretsOf(config);
    return {
      config,
      fault,
      found: fault === undefined ? [...secrets] : [fault],
    };
  }

  /** @returns whether it restarts now; otherwise the next check tries again */
  #restart(entry: Entry): boolean {
    const now = performance.now();
    entry.waitsSince ??= now;
    if (
      typeof this.#options.plugin.background === 'object' &&
      this.#busy.has(entry.tenant.tenantId) &&
      entry.supervised?.engine &&
      now - entry.waitsSince < this.#timing.drainMs
    ) {
      return false;
    }
    entry.waitsSince = undefined;
    entry.supervised?.restart();
    return true;
  }

  /** Starts the instances whose background work this process does. */
  #startHeld(): void {
    for (const [tenantId, entry] of this.#entries) {
      if (!entry.supervised && this.#worksHere(tenantId)) {
        entry.supervised = this.#supervise(entry.tenant);
      }
    }
  }

  #worksHere(tenantId: string): boolean {
    return this.#busy.has(tenantId) && this.#options.leases.isHeld(tenantId);
  }

  #stopIdle(): void {
    const before = performance.now() - this.#timing.idleMs;
    const { background } = this.#options.plugin;
    for (const [tenantId, entry] of this.#entries) {
      const isBusy =
        this.#worksHere(tenantId) ||
        // A request to this process may have begun the work.
        (typeof background === 'object' && this.#busy.has(tenantId));
      if (
        !isBusy &&
        entry.lastRequestAt < before &&
        !entry.supervised?.engine?.hasSockets
      ) {
        entry.supervised?.stop();
        entry.supervised = undefined;
      }
    }
  }

  #supervise(tenant: ActiveTenant): SupervisedEngine {
    const logger = this.#options.logger.child({ tenant: tenant.tenantSlug });
    return SupervisedEngine.run({
      tenant,
      name: this.#name,
      logger,
      queue: this.#queue,
      timing: this.#timing,
      start: signal => this.#startInstance(tenant, logger, signal),
    });
  }

  async #startInstance(
    tenant: ActiveTenant,
    logger: LoggerService,
    signal: AbortSignal,
  ): Promise<TenantEngine> {
    const { configs, events, features, plugin, pool, redact } = this.#options;
    const { registry, schemas } = this.#options;
    const [record] = await registry.list({ tenantIds: [tenant.tenantId] });
    if (!record?.isActive) {
      // Its tables may be deleted already, and must not be created again.
      throw new Error('The tenant is not active any more');
    }
    const { config, fault, found } = await this.#configOf(record);
    this.#entryOf(tenant).found = found;
    if (fault !== undefined) {
      logger.warn(
        `The ${
          this.#name
        } starts without the configuration of its tenant, until that can be used: ${fault}`,
      );
    }
    redact(configs.secretsOf(config));
    await plugin.prepare?.(config.get());
    try {
      return await schemas.whileStarting(tenant.tenantId, signal, () =>
        TenantEngine.start({
          tenant,
          config,
          database: pool.forSchema(schemas.nameOf(tenant.tenantId)),
          events,
          features: [
            ...features,
            ...configs.featuresOfInstance(tenant, plugin, logger),
          ],
          logger: quiet(logger),
          services: this.#options.services,
          signal,
          work: this.#options.works.of(tenant),
          background: 'scheduled tasks',
          migrates: true,
        }),
      );
    } catch (error) {
      throw withoutSecrets(error, configs.secretsOf(config));
    }
  }
}

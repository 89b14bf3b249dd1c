import type {
  DiscoveryService,
  LoggerService,
} from '@backstage/backend-plugin-api';
import catalogPlugin from '@backstage/plugin-catalog-backend';
import catalogLogs from '@backstage/plugin-catalog-backend-module-logs';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import type {
  ActiveTenant,
  TenantEngineChanges,
  TenantEngineStatus,
  EventLoopWatch,
} from 'backstage-plugin-catalog-tenancy-node';
import { CodeSources } from '../code/CodeSources';
import type { EngineConfigs } from '../config/EngineConfigs';
import { fingerprintOf } from '../config/fingerprint';
import { processingIntervalMs } from '../config/intervals';
import { describeFailure, withoutSecrets } from './failures';
import { type EngineEntry, EngineSleep, type SleepTiming } from './EngineSleep';
import type { PluginServices } from './services';
import { type EngineFeature, quiet, TenantEngine } from './TenantEngine';
import { CoalescedRefresh } from '../work/CoalescedRefresh';
import type { EnginePool } from '../work/EnginePool';
import { openEngineDatabase } from '../work/openEngineDatabase';
import type { TenantLeases } from '../leases/ProcessLeases';
import type { WakeTimes } from '../leases/WakeTimes';
import type {
  EngineStatusRecorder,
  HeldEngine,
} from '../status/EngineStatusRecorder';
import type { MembersOfTenants } from '../members/MembersOfTenants';
import type { EngineTables } from '../tables/EngineTables';
import type { TenantEvents } from '../plugins/TenantEvents';
import type { WorkByTenant } from '../work/WorkByTenant';
import { boundedSources } from '../sources/boundedSources';
import { ReadsUnderWay } from '../sources/ReadsUnderWay';
import { refuseGrowth } from '../sources/refuseGrowth';
import { SourceParser } from '../sources/SourceParser';
import { StartQueue } from '../work/StartQueue';
import {
  SupervisedEngine,
  SUPERVISION_TIMING,
  type SupervisionTiming,
} from './SupervisedEngine';

/** Intervals, in milliseconds. */
export interface ManagerTiming extends SupervisionTiming, SleepTiming {
  /**
   * The interval of checks of idle engines for work without a notification, while this process
   * receives the notifications of other processes; 60,000 by default. Otherwise each check
   * looks.
   */
  sweepMs: number;
}

interface EngineManagerOptions {
  configs: EngineConfigs;
  /** The events of other plugins' instances, such as webhooks. */
  events: TenantEvents;
  watch: Pick<EventLoopWatch, 'note'>;
  /** Modules and services of each engine. */
  features: EngineFeature[];
  leases: TenantLeases;
  logger: LoggerService;
  /** Of a tenant. */
  maxEntities: (tenantSlug: string) => Promise<number>;
  members: Pick<
    MembersOfTenants,
    'open' | 'close' | 'refresh' | 'isBusy' | 'onClosed'
  >;
  pool: EnginePool;
  /**
   * Since when the oldest item of each engine is due, if one is. It neither waits for an engine
   * whose tables are locked nor for one without tables.
   */
  readOldest: (tenantIds: string[]) => Promise<Map<string, Date | null>>;
  /** Has the logs leave out secrets. */
  redact: (secrets: readonly string[]) => void;
  registry: TenantEngineChanges;
  services: PluginServices;
  /** The names of the providers that code hands entities to. */
  sources: readonly string[];
  /** Records the status of the engines, for all processes. */
  status: Pick<EngineStatusRecorder, 'changed' | 'caughtUp' | 'forget'>;
  tables: EngineTables;
  timing?: Partial<ManagerTiming>;
  wakes: WakeTimes;
  works: WorkByTenant;
}

/** How many engines start at the same time. */
const STARTS = 4;

/**
 * The engines of this process: those of active tenants whose leases it holds, while they have
 * work, and those that had a request lately. All others sleep: the database has the time at
 * which each is due, and the process keeps only the name of its tenant.
 */
export class EngineManager {
  readonly #options: EngineManagerOptions;
  readonly #timing: ManagerTiming;
  readonly #entries = new Map<string, EngineEntry>();
  readonly #refresh: CoalescedRefresh;
  readonly #sleep: EngineSleep;
  readonly #queue = new StartQueue(STARTS);
  readonly #parser: SourceParser;
  readonly #reads: ReadsUnderWay;
  #sweptAt = performance.now();
  #timer?: NodeJS.Timeout;
  #isStopped = false;

  /** Starts the engines in the background. */
  static start(options: EngineManagerOptions): EngineManager {
    const manager = new EngineManager(options);
    manager.#watch();
    return manager;
  }

  private constructor(options: EngineManagerOptions) {
    this.#options = options;
    this.#parser = new SourceParser(options.configs.operator.bounds);
    this.#reads = new ReadsUnderWay({
      pool: options.pool,
      // To read and to parse.
      longestMs: 2 * options.configs.operator.bounds.timeoutMs,
    });
    this.#timing = {
      ...SUPERVISION_TIMING,
      checkMs: 10_000,
      idleMs: 600_000,
      sweepMs: 60_000,
      quietMs: 60_000,
      ...options.timing,
    };
    this.#refresh = new CoalescedRefresh(
      () => this.#readRegistry(),
      () => !this.#isStopped,
    );
    this.#sleep = new EngineSleep({
      ...options,
      entries: this.#entries,
      keepRunning: options.configs.operator.keepRunning,
      timing: this.#timing,
      wake: tenantId => this.wake(tenantId),
    });
  }

  /** The engine of a tenant for a request; it may be starting. */
  find(tenantId: string): SupervisedEngine | undefined {
    const entry = this.#entries.get(tenantId);
    if (entry) {
      entry.lastRequestAt = performance.now();
      this.#run(entry);
    }
    return entry?.supervised;
  }

  /**
   * The engine of a tenant for background work of this process; it may be starting. It sleeps as
   * soon as that is done, where a request would keep it for more.
   */
  findHeld(tenantId: string): SupervisedEngine | undefined {
    this.wake(tenantId);
    return this.#entries.get(tenantId)?.supervised;
  }

  statusOf(tenantId: string): TenantEngineStatus {
    const { supervised, sleep } = this.#entries.get(tenantId) ?? {};
    const without = sleep === 'asleep' ? 'running' : 'stopped';
    return supervised?.status ?? { state: without };
  }

  /** By the clock of `performance`; `undefined` if the engine does not sleep. */
  asleepSince(tenantId: string): number | undefined {
    const { asleepSince, sleep } = this.#entries.get(tenantId) ?? {};
    return sleep === 'asleep' ? asleepSince : undefined;
  }

  /** Has the engine of a tenant look for work, if this process does it. */
  wake(tenantId: string): void {
    const entry = this.#entries.get(tenantId);
    if (entry && this.#options.leases.isHeld(tenantId)) {
      this.#run(entry);
    }
    entry?.hibernation?.wake();
  }

  /** The engines whose background work this process does. */
  held(): HeldEngine[] {
    return [...this.#entries]
      .filter(([tenantId]) => this.#options.leases.isHeld(tenantId))
      .map(([tenantId, { isPaused, sleep }]) => ({
        tenantId,
        state: this.statusOf(tenantId).state,
        isPaused: isPaused === true,
        isAsleep: sleep === 'asleep',
      }));
  }

  /** After a refresh of an entity, its sources that were set aside are read again. */
  async refreshed(tenantId: string, entityRef: string): Promise<void> {
    if (await this.#reads.resume(tenantId, entityRef)) {
      this.wake(tenantId);
    }
  }

  /** Reads the registry, so that earlier changes take effect. */
  refresh(): Promise<void> {
    return this.#refresh.request();
  }

  /** Stops all engines. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#refresh.ended();
    await this.#sleep.stop();
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    await Promise.all(entries.map(({ supervised }) => supervised?.stop()));
    await this.#parser.close();
  }

  #watch(): void {
    const { leases, logger, members, registry } = this.#options;
    const attempt = async (work: () => Promise<void>) => {
      try {
        await work();
      } catch (error) {
        logger.warn(
          `The tenants with engines can't be read at the moment: ${describeFailure(
            error,
          )}`,
        );
      }
    };
    const check = async () => {
      if (this.#refresh.isWanted) {
        await this.refresh();
      }
      this.#sleep.look();
      this.#stopIdle();
      await this.#findLostTables();
      await this.#wakeDue();
      await this.#sleep.check();
    };
    const checkAgain = () => {
      if (!this.#isStopped) {
        this.#timer = setTimeout(
          () => attempt(check).then(checkAgain),
          this.#timing.checkMs,
        );
      }
    };
    registry.onChange(() => attempt(() => this.refresh()));
    registry.onWork(tenantId => this.wake(tenantId));
    members.onClosed = tenantId => this.wake(tenantId);
    leases.onChange(() => this.#sleep.look());
    leases.beforeRelease(async tenantId => {
      await this.#options.works.finish(tenantId);
      await this.#reads.leave(tenantId);
    });
    attempt(() => this.refresh()).then(checkAgain);
  }

  async #readRegistry(): Promise<void> {
    const { registry } = this.#options;
    const wanted = (await registry.list()).filter(({ isActive }) => isActive);
    if (this.#isStopped) {
      return;
    }
    const ids = new Set(wanted.map(({ tenantId }) => tenantId));
    for (const [tenantId, { supervised }] of this.#entries) {
      if (!ids.has(tenantId)) {
        this.#entries.delete(tenantId);
        this.#options.status.forget(tenantId);
        // Not awaited, so a slow stop does not delay the start of others.
        supervised?.stop();
      }
    }
    for (const record of wanted) {
      const { tenantId, tenantSlug, pausedAt } = record;
      const fingerprint = fingerprintOf(record);
      let entry = this.#entries.get(tenantId);
      if (!entry) {
        entry = {
          tenant: { tenantId, tenantSlug },
          fingerprint,
          lastRequestAt: -Infinity,
        };
        this.#entries.set(tenantId, entry);
      } else if (entry.fingerprint !== fingerprint) {
        entry.fingerprint = fingerprint;
        entry.supervised?.restart();
        this.wake(tenantId);
      }
      // Before the engine starts and ingests.
      this.#setPaused(entry, pausedAt !== undefined);
    }
    this.#sleep.look();
  }

  #setPaused(entry: EngineEntry, isPaused: boolean): void {
    if (entry.isPaused === isPaused) {
      return;
    }
    const { logger, works } = this.#options;
    const { tenantId, tenantSlug } = entry.tenant;
    const isChange = isPaused || entry.isPaused !== undefined;
    entry.isPaused = isPaused;
    if (isPaused) {
      // Not awaited: running work has seconds to end. It never rejects.
      works.pause(tenantId);
    } else {
      works.resume(tenantId);
    }
    if (isChange) {
      this.wake(tenantId);
      logger.info(`The engine is ${isPaused ? 'paused' : 'resumed'}`, {
        tenant: tenantSlug,
      });
    }
  }

  /** Starts an engine in this process, unless it runs. */
  #run(entry: EngineEntry): void {
    if (entry.supervised) {
      return;
    }
    if (this.#options.leases.isHeld(entry.tenant.tenantId)) {
      entry.sleep = 'awake';
    }
    entry.supervised = this.#supervise(entry.tenant);
  }

  #stopIdle(): void {
    const { leases } = this.#options;
    const before = performance.now() - this.#timing.idleMs;
    for (const [tenantId, entry] of this.#entries) {
      if (!leases.isHeld(tenantId) && entry.lastRequestAt < before) {
        entry.supervised?.stop();
        entry.supervised = undefined;
      }
    }
  }

  async #wakeDue(): Promise<void> {
    const { registry } = this.#options;
    const now = performance.now();
    if (!registry.isListening || now - this.#sweptAt >= this.#timing.sweepMs) {
      this.#sweptAt = now;
      await this.#wakeMissed();
      await this.#restartForSecrets();
    }
  }

  /**
   * Wakes the engines that missed work: after changes by hand, and after changes by other
   * processes without a notification.
   */
  async #wakeMissed(): Promise<void> {
    const sleeping = [...this.#entries]
      .filter(([, { hibernation }]) => hibernation?.isAsleep)
      .map(([tenantId]) => tenantId);
    const oldest = await this.#options.readOldest(sleeping);
    oldest.forEach((since, tenantId) => since && this.wake(tenantId));
  }

  /** Starts engines again whose files of secrets have changed. */
  async #restartForSecrets(): Promise<void> {
    const { configs } = this.#options;
    for (const entry of this.#entries.values()) {
      const { fingerprint, secrets, supervised, tenant } = entry;
      if (secrets?.length && supervised?.engine) {
        const config = await configs
          .configOf(tenant, JSON.parse(fingerprint))
          // It runs on with what it has.
          .catch(() => undefined);
        if (config && configs.secretsOf(config).join() !== secrets.join()) {
          supervised.restart();
        }
      }
    }
  }

  #supervise(tenant: ActiveTenant): SupervisedEngine {
    const { leases, tables, wakes } = this.#options;
    const logger = this.#options.logger.child({ tenant: tenant.tenantSlug });
    return SupervisedEngine.run({
      tenant,
      logger,
      queue: this.#queue,
      tables: {
        ready: async (_, stopped) => {
          await this.#recordOf(tenant);
          if (leases.isHeld(tenant.tenantId)) {
            await wakes.awaken([tenant.tenantId]);
          }
          await tables.ready(tenant, stopped);
        },
        hurry: tenantId => tables.hurry(tenantId),
      },
      timing: this.#timing,
      start: signal => this.#startEngine(tenant, logger, signal),
      onStatus: status => {
        // A stopped engine sleeps, or its tenant is gone.
        if (status.state !== 'stopped' && this.#entries.has(tenant.tenantId)) {
          this.#options.status.changed(tenant.tenantId, status);
        }
      },
    });
  }

  async #recordOf(tenant: ActiveTenant) {
    const { registry } = this.#options;
    const { tenantId } = tenant;
    const [record] = await registry.list({ tenantIds: [tenantId] });
    if (!record?.isActive) {
      throw new Error('The tenant is not active any more');
    }
    return record;
  }

  async #startEngine(
    tenant: ActiveTenant,
    logger: LoggerService,
    signal: AbortSignal,
  ): Promise<TenantEngine> {
    const { configs, events, features, members, pool } = this.#options;
    const { redact, services } = this.#options;
    const work = this.#options.works.of(tenant);
    const record = await this.#recordOf(tenant);
    const config = await configs.configOf(tenant, record.catalogConfig);
    redact(configs.secretsOf(config));
    const entry = this.#entries.get(tenant.tenantId);
    if (entry) {
      entry.secrets = configs.secretsOf(config);
      // Upstream spreads items that were processed together over this time.
      entry.slackMs = (processingIntervalMs(config) ?? 0) / 2;
    }
    const within = configs.reach(tenant, await hostsOf(services.discovery));
    // Throws for integrations of app-config that are not valid: before anything is opened.
    const ofConfig = configs.features(tenant);
    const memberEntities = members.open(tenant, { work, logger });
    const database = openEngineDatabase(pool, {
      tenantId: tenant.tenantId,
      work,
      onIdle: () => {
        this.#options.status.caughtUp(tenant.tenantId);
        // The engine may have ingested an entity with the ref of a member.
        members.refresh(tenant.tenantId);
      },
    });
    if (entry) {
      entry.hibernation = database.hibernation;
    }
    try {
      const engine = await TenantEngine.start({
        tenant,
        config,
        database: {
          knex: database.knex,
          close: () => {
            members.close(tenant.tenantId, memberEntities);
            database.close();
            // Another engine of the tenant may have started meanwhile.
            if (entry?.hibernation === database.hibernation) {
              entry.hibernation = undefined;
            }
          },
        },
        events,
        features: [
          catalogPlugin,
          // Errors of sources are events, which only this module logs.
          catalogLogs,
          ...features,
          ...ofConfig,
          memberEntities.feature,
          boundedSources({
            ...tenant,
            parser: this.#parser,
            bounds: configs.operator.bounds,
            reads: this.#reads,
            refuseGrowth: brought =>
              refuseGrowth(tenant, brought, this.#options),
            watch: this.#options.watch,
          }),
        ],
        logger: quiet(logger),
        services,
        signal,
        sources: new CodeSources(this.#options.sources),
        within,
        work,
      });
      logger.info('The engine runs');
      return engine;
    } catch (error) {
      throw withoutSecrets(error, configs.secretsOf(config));
    }
  }

  /** An engine without tables does not end by itself: each of its statements fails. */
  async #findLostTables(): Promise<void> {
    const running = [...this.#entries.values()]
      .flatMap(({ supervised }) => supervised ?? [])
      .filter(({ status }) => status.state === 'running');
    const schemaOf = ({ tenant }: SupervisedEngine) =>
      engineSchemaOf(tenant.tenantId);
    const rows = await this.#options.pool.query<{ name: string }>(
      `select n.nspname as name
         from pg_namespace n join pg_class c on c.relnamespace = n.oid
        where n.nspname = any ($1) and c.relname = 'refresh_state'`,
      [running.map(schemaOf)],
    );
    const found = new Set(rows.map(({ name }) => name));
    running
      .filter(supervised => !found.has(schemaOf(supervised)))
      .forEach(supervised => supervised.fail(new Error('Its tables are gone')));
  }
}

/** The hosts at which plugins of this backend call each other. */
async function hostsOf(discovery: DiscoveryService): Promise<Set<string>> {
  const urls = [
    await discovery.getBaseUrl('catalog'),
    await discovery.getExternalBaseUrl('catalog'),
  ];
  return new Set(urls.map(url => new URL(url).host));
}

import {
  type AuditorService,
  coreServices,
  createBackendModule,
  createServiceFactory,
  createServiceRef,
  type DatabaseService,
  type RootLoggerService,
} from '@backstage/backend-plugin-api';
import { ServiceUnavailableError, toError } from '@backstage/errors';
import type { JsonObject } from '@backstage/types';
import {
  type ActiveTenant,
  type TenantEngineChanges,
  type TenantEngines,
  type TenantMutation,
  catalogStoreServiceRef,
  eventLoopWatchServiceRef,
  requestsUnderWayServiceRef,
  tenancyHealthServiceRef,
  tenancyServiceRef,
  tenantChangesServiceRef,
  tenantDatabaseServiceRef,
  tenantEngineChangesServiceRef,
  tenantEnginesServiceRef,
  tenantMemberStoreServiceRef,
  tenantShareStoreServiceRef,
  tenantStoreServiceRef,
  tenantUsageServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request, RequestHandler } from 'express';
import { createHash } from 'node:crypto';
import { CodeMutations } from './code/CodeMutations';
import { EngineConfigs } from './config/EngineConfigs';
import { processingIntervalMs } from './config/intervals';
import { describeFailure } from './engine/failures';
import { logPackages, readEnginePackages } from './engine/packages';
import { pluginServices } from './engine/services';
import type { EngineFeature } from './engine/TenantEngine';
import { EngineManager, type ManagerTiming } from './engine/EngineManager';
import { MembersOfTenants } from './members/MembersOfTenants';
import { EnginePool } from './work/EnginePool';
import { endSessions, freeTasks, LeaseStore } from './leases/LeaseStore';
import { ProcessLeases } from './leases/ProcessLeases';
import { WakeTimes } from './leases/WakeTimes';
import { dependenciesOf, digestOfCode } from './plugins/known/installed';
import { TenantEvents } from './plugins/TenantEvents';
import { runningEngine } from './routes/engineErrors';
import { forwardToEngine } from './routes/forward';
import {
  EngineStatusRecorder,
  type RecorderTiming,
} from './status/EngineStatusRecorder';
import { EngineStatusStore } from './status/EngineStatusStore';
import { countFailures, countStates, reportEngines } from './status/metrics';
import { refuseRemoval } from './shares/refuseRemoval';
import { refuseRegistration } from './sources/refuseGrowth';
import { SharedEntities, type ShareTiming } from './shares/SharedEntities';
import { EngineTables } from './tables/EngineTables';
import { schedulePurge } from './tables/schedulePurge';
import { WorkByTenant } from './work/WorkByTenant';

interface StartedEngines {
  manager: EngineManager;
  forward: RequestHandler;
  mutations: CodeMutations;
  status: EngineStatusStore;
}

/** The engines, as other parts of the backend use them before and after their start. */
class Engines implements TenantEngines {
  readonly isAvailable = true;
  readonly packages = readEnginePackages();
  readonly leases: ProcessLeases;
  readonly works: WorkByTenant;
  #started?: StartedEngines;

  constructor(readonly configs: EngineConfigs) {
    this.leases = new ProcessLeases(configs.operator.leases);
    this.works = new WorkByTenant({ leases: this.leases });
  }

  open(started: StartedEngines): void {
    this.#started = started;
  }

  readonly handler: RequestHandler = (req, res, next) => {
    if (this.#started) {
      this.#started.forward(req, res, next);
    } else {
      next(notStarted());
    }
  };

  async applyMutation(tenantId: string, mutation: TenantMutation) {
    await this.#running().mutations.apply(tenantId, mutation);
  }

  async served(
    tenantId: string,
    mutation: TenantMutation,
    options?: { signal?: AbortSignal },
  ) {
    await this.#running().mutations.served(tenantId, mutation, options);
  }

  validateConfig(tenant: ActiveTenant, config: JsonObject): Promise<void> {
    return this.configs.validate(tenant, config);
  }

  isConfiguredByOperator(tenantSlug: string): boolean {
    return this.configs.isConfiguredByOperator(tenantSlug);
  }

  statusOf(tenantId: string) {
    return (
      this.#started?.manager.statusOf(tenantId) ?? { state: 'stopped' as const }
    );
  }

  get catalogVersion(): string {
    return this.packages[0].version;
  }

  report(tenantId: string) {
    return this.#readStatus(status => status.report(tenantId));
  }

  reports(tenantIds: string[]) {
    return this.#readStatus(status => status.reports(tenantIds));
  }

  countSourceErrors(tenantIds: string[]) {
    return this.#readStatus(status => status.countSourceErrors(tenantIds));
  }

  /** As {@link EngineStatusStore.readAsleep}. */
  asleep() {
    return this.#readStatus(status => status.readAsleep());
  }

  #running(): StartedEngines {
    if (!this.#started) {
      throw notStarted();
    }
    return this.#started;
  }

  async #readStatus<TResult>(
    read: (status: EngineStatusStore) => Promise<TResult>,
  ): Promise<TResult> {
    const { status } = this.#running();
    try {
      return await read(status);
    } catch (error) {
      // An error of the driver may quote a statement.
      throw new ServiceUnavailableError(
        `The status of the engine can't be read at the moment: ${describeFailure(
          error,
        )}`,
      );
    }
  }
}

function notStarted(): ServiceUnavailableError {
  return new ServiceUnavailableError('The catalog engines have not started');
}

/** The engines, for this package itself and its tests. */
export const enginesServiceRef = createServiceRef<Engines>({
  id: 'catalog-tenancy.engines',
  scope: 'root',
});

/** Keeps the backend from starting with configuration that is not of the expected form. */
export const enginesServiceFactory = createServiceFactory({
  service: enginesServiceRef,
  deps: { config: coreServices.rootConfig },
  factory: ({ config }) => new Engines(EngineConfigs.create({ config })),
});

export const tenantEnginesServiceFactory = createServiceFactory({
  service: tenantEnginesServiceRef,
  deps: { engines: enginesServiceRef },
  factory: ({ engines }) => engines,
});

/** Runs the engines, for as long as the backend does. */
export const catalogModuleTenantEngines = (
  features: EngineFeature[],
  timing?: Partial<ManagerTiming & RecorderTiming & ShareTiming>,
  sources: readonly string[] = [],
  events = new TenantEvents(),
) =>
  createBackendModule({
    pluginId: 'catalog',
    moduleId: 'tenant-engines',
    register(env) {
      env.registerInit({
        deps: {
          ...pluginServices,
          changes: tenantEngineChangesServiceRef,
          database: coreServices.database,
          engines: enginesServiceRef,
          health: tenancyHealthServiceRef,
          lifecycle: coreServices.lifecycle,
          requests: requestsUnderWayServiceRef,
          watch: eventLoopWatchServiceRef,
          rootLifecycle: coreServices.rootLifecycle,
          rootLogger: coreServices.rootLogger,
          catalogStore: catalogStoreServiceRef,
          memberStore: tenantMemberStoreServiceRef,
          registryChanges: tenantChangesServiceRef,
          shares: tenantShareStoreServiceRef,
          tenantDatabase: tenantDatabaseServiceRef,
          tenancy: tenancyServiceRef,
          tenants: tenantStoreServiceRef,
          usage: tenantUsageServiceRef,
        },
        async init({
          catalogStore,
          changes,
          database,
          engines,
          health,
          lifecycle,
          logger,
          metrics,
          requests,
          watch,
          rootLifecycle,
          rootLogger,
          memberStore,
          registryChanges,
          shares,
          tenantDatabase,
          tenancy,
          tenants,
          usage,
          ...services
        }) {
          const {
            catalogConnection: connection,
            config: { schema },
          } = tenancy;
          if (!connection) {
            throw new Error("The tenants' catalog engines need PostgreSQL");
          }
          logPackages(engines.packages, logger);
          const tables = EngineTables.create({ connection, schema, logger });
          const tasksSchema = await schemaOf(database);
          await tables.protectDefaultCatalog({
            schema: tasksSchema,
            migrations: database.migrations,
          });
          await schedulePurge({
            logger,
            scheduler: services.scheduler,
            tables,
            tenants,
          });
          const pool = new EnginePool({
            applicationName: engines.leases.applicationName,
            connection,
            max: engines.configs.operator.sessions.engines,
            logger,
            onWork: (tenantId, ms) => usage.addWork(tenantId, ms),
          });
          const { processId } = engines.leases;
          const statusStore = new EngineStatusStore({
            connection,
            schema,
            processId,
          });
          const status = new EngineStatusRecorder({
            leases: engines.leases,
            logger,
            onFailure: countFailures(metrics),
            store: statusStore,
            timing,
          });
          // Of this process; tenants with a failed engine are served from their rows.
          health.addDetail('engines', () =>
            countStates(status.observe().engines),
          );
          reportEngines(metrics, {
            observe: () => status.observe(),
            pool: () => pool.stats(),
            longestHoldMs: () => watch.takeLongestMs(),
          });
          engines.leases.addFence(async lost => {
            await endSessions(connection, lost);
            await freeTasks(connection, tasksSchema, lost);
          });
          engines.leases.addTenants(async () =>
            (await changes.list())
              .filter(({ isActive }) => isActive)
              .map(({ tenantId }) => tenantId),
          );
          const leaseStore = new LeaseStore({
            connection,
            schema,
            processId,
            leaseMs: engines.configs.operator.leases.leaseMs,
            logger,
            intervalMsOf: tenantId =>
              processingIntervalOf(tenantId, { changes, engines }),
          });
          const wakes = new WakeTimes({
            query: (sql, values) => leaseStore.query(sql, values),
            processId,
            schema,
            digest: digestOf(engines, features, sources),
          });
          // After the start of all plugins, when all fences have been added.
          rootLifecycle.addStartupHook(() =>
            engines.leases.start({ logger, store: leaseStore }),
          );
          const maxEntities = async (slug: string) =>
            (await tenants.get(slug))?.max_entities ?? Infinity;
          lifecycle.addStartupHook(() => {
            const members = new MembersOfTenants({
              changes: registryChanges,
              database: tenantDatabase,
              logger,
              pool,
              sources: { members: memberStore, store: catalogStore },
            });
            const manager = EngineManager.start({
              configs: engines.configs,
              events,
              watch,
              features,
              leases: engines.leases,
              logger,
              maxEntities,
              members,
              pool,
              readOldest: ids => statusStore.readDue(ids),
              redact: secrets => redact(rootLogger, secrets),
              registry: changes,
              services: { ...services, logger, metrics },
              sources,
              status,
              tables,
              timing,
              wakes,
              works: engines.works,
            });
            const find = async (id: string) => {
              const found = manager.find(id);
              if (!found) {
                // The tenant may have been created just now.
                await manager.refresh();
              }
              return found ?? manager.find(id);
            };
            // In the database, before and after what may be work: this process may end between.
            const announceWork = async (id: string) => {
              if (!engines.leases.isHeld(id)) {
                await statusStore
                  .makeDue(id)
                  .catch(error => logger.warn(describeFailure(error)));
              }
            };
            const notifyWork = async (id: string) => {
              if (!engines.leases.isHeld(id)) {
                await announceWork(id);
                await changes
                  .notifyWork(id)
                  .catch(error => logger.debug(String(error)));
              }
            };
            const findToWork = async (id: string) => {
              await announceWork(id);
              return find(id);
            };
            events.notifyWork = notifyWork;
            events.startEngine = async id => {
              const engine = await findToWork(id);
              if (engine) {
                await runningEngine(engine);
              }
            };
            const mutationsBy = (find_: typeof findToWork) =>
              new CodeMutations({
                bounds: engines.configs.operator.bounds,
                database: tenantDatabase,
                find: find_,
                logger,
                notifyWork,
              });
            const mutations = mutationsBy(findToWork);
            const copies = mutationsBy(async id => manager.findHeld(id));
            engines.open({
              manager,
              forward: forwardToEngine({
                find,
                logger,
                maxEntities: async slug =>
                  Math.min(
                    engines.configs.operator.bounds.maxEntities,
                    await maxEntities(slug),
                  ),
                refuse: (id, req) =>
                  auditRefusal(services.auditor, req, async () => {
                    await refuseRemoval(tenantDatabase, id, req);
                    await refuseRegistration(req, { maxEntities, pool });
                  }),
                announceWork,
                refreshed: (id, entityRef) => manager.refreshed(id, entityRef),
                notifyWork,
              }),
              mutations,
              status: statusStore,
            });
            const shared = SharedEntities.start({
              asleepSince: id => manager.asleepSince(id),
              catalog: catalogStore,
              database: tenantDatabase,
              logger,
              engines: {
                isRunning: id =>
                  manager.statusOf(id).state === 'running' &&
                  manager.asleepSince(id) === undefined,
                start: async id => {
                  const engine = manager.findHeld(id);
                  await (engine && runningEngine(engine));
                },
                // The process that has taken the lease may have passed on later changes.
                apply: (id, mutation) =>
                  copies.apply(id, mutation, (tenant, write) =>
                    engines.works.of(tenant).runTask(write),
                  ),
              },
              pool,
              receivers: () =>
                manager
                  .held()
                  .filter(({ isPaused }) => !isPaused)
                  .map(({ tenantId }) => tenantId),
              shares,
              status: statusStore,
              timing,
            });
            changes.onChange(() => shared.hurry());
            status.start(() => manager.held());
            changes.onChange(() => engines.leases.refresh());
            // While the database and the other services still answer. The work of tenants
            // comes to its end before their engines stop, and others go on with it meanwhile.
            rootLifecycle.addBeforeShutdownHook(async () => {
              await shared.stop();
              await status.stop();
              await engines.leases.stop();
            });
            // Requests come as long as the backend listens.
            rootLifecycle.addShutdownHook(async () => {
              await requests.answered();
              members.stop();
              await manager.stop();
              await statusStore.close();
              await pool.close();
            });
          });
        },
      });
    },
  });

/** Records what is refused as the catalog records what its routes refuse. */
async function auditRefusal(
  auditor: AuditorService,
  request: Request,
  refuse: () => Promise<void>,
): Promise<void> {
  try {
    await refuse();
  } catch (error) {
    const isRemoval = request.method === 'DELETE';
    const event = await auditor.createEvent({
      eventId: isRemoval ? 'entity-mutate' : 'location-mutate',
      severityLevel: 'medium',
      request,
      meta: { actionType: isRemoval ? 'delete' : 'create' },
    });
    await event.fail({ error: toError(error) });
    throw error;
  }
}

/** How often a tenant's engine processes an item again; nothing where it does not. */
async function processingIntervalOf(
  tenantId: string,
  {
    changes,
    engines,
  }: { changes: Pick<TenantEngineChanges, 'list'>; engines: Engines },
): Promise<number | undefined> {
  const [record] = await changes.list({ tenantIds: [tenantId] });
  try {
    const config = await engines.configs.configOf(
      record ?? { tenantId, tenantSlug: '' },
      record?.catalogConfig,
    );
    return processingIntervalMs(config);
  } catch {
    // A configuration with which the engine does not start.
    return undefined;
  }
}

/** A digest of the packages, modules, sources and operator configuration of engines. */
function digestOf(
  engines: Engines,
  features: EngineFeature[],
  sources: readonly string[],
): string {
  return createHash('sha256')
    .update(
      JSON.stringify([
        engines.packages,
        // A module has no name that is public.
        [...dependenciesOf()],
        digestOfCode(),
        features.length,
        sources,
        engines.configs.common,
      ]),
    )
    .digest('base64url');
}

/** The schema in which a plugin of the backend has its tables. */
export async function schemaOf(database: DatabaseService): Promise<string> {
  const knex = await database.getClient();
  const { rows } = await knex.raw('select current_schema() as name');
  return rows[0].name;
}

/** Adds secrets to those that Backstage's logger redacts. */
export function redact(
  logger: RootLoggerService & {
    addRedactions?: (secrets: readonly string[]) => void;
  },
  secrets: readonly string[],
): void {
  logger.addRedactions?.(secrets);
}

import {
  coreServices,
  createBackendModule,
  createServiceFactory,
  createServiceRef,
} from '@backstage/backend-plugin-api';
import { ServiceUnavailableError } from '@backstage/errors';
import {
  requestsUnderWayServiceRef,
  type TenantPlugins,
  tenancyServiceRef,
  tenantEngineChangesServiceRef,
  tenantPluginsServiceRef,
  tenantStoreServiceRef,
  tenantUsageServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';
import { pluginServices } from '../engine/services';
import type { EngineFeature } from '../engine/TenantEngine';
import { endSessions, freeTasks } from '../leases/LeaseStore';
import { enginesServiceRef, redact, schemaOf } from '../module';
import { EnginePool } from '../work/EnginePool';
import {
  type FindUpgrade,
  findUpgrade,
  forwardToEngine,
} from '../routes/forward';
import { schedulePurge } from '../tables/schedulePurge';
import { installedPlugins } from './known/installed';
import type { KnownPlugin } from './known/KnownPlugin';
import { findPlugin } from './known/knownPlugins';
import { type InstancesTiming, PluginInstances } from './PluginInstances';
import { assertSchemaName, connectionOf, PluginSchemas } from './PluginSchemas';
import { TenantEvents } from './TenantEvents';

/** The plugins, as the gate uses them before and after the start of their instances. */
class ForwardedPlugins implements TenantPlugins {
  readonly pluginIds: readonly string[];
  readonly #plugins: readonly KnownPlugin[];
  readonly #started = new Map<
    string,
    { forward: RequestHandler; upgrade: FindUpgrade }
  >();

  constructor(plugins: readonly KnownPlugin[]) {
    this.#plugins = plugins;
    this.pluginIds = plugins.map(({ id }) => id);
  }

  isPublic(pluginId: string, path: string): boolean {
    const plugin = this.#plugins.find(({ id }) => id === pluginId);
    return (plugin?.publicPaths ?? []).some(each =>
      path.startsWith(`${each}/`),
    );
  }

  open(pluginId: string, forward: RequestHandler, upgrade: FindUpgrade): void {
    this.#started.set(pluginId, { forward, upgrade });
  }

  handlerOf(pluginId: string): RequestHandler | undefined {
    return this.pluginIds.includes(pluginId)
      ? (req, res, next) => {
          const started = this.#started.get(pluginId);
          if (started) {
            started.forward(req, res, next);
          } else {
            next(notStarted(pluginId));
          }
        }
      : undefined;
  }

  upgradesOf(pluginId: string): FindUpgrade | undefined {
    return this.pluginIds.includes(pluginId)
      ? async (tenant, path) => {
          const started = this.#started.get(pluginId);
          if (!started) {
            throw notStarted(pluginId);
          }
          return started.upgrade(tenant, path);
        }
      : undefined;
  }
}

function notStarted(pluginId: string): ServiceUnavailableError {
  return new ServiceUnavailableError(
    `The tenants' instances of the plugin '${pluginId}' have not started`,
  );
}

const forwardedPluginsServiceRef = createServiceRef<ForwardedPlugins>({
  id: 'catalog-tenancy.forwarded-plugins',
  scope: 'root',
});

/**
 * The features of a plugin's instances; for a plugin that was not tried with tenants, with the
 * word of the operator.
 *
 * @public
 */
export type InstanceFeatures =
  | EngineFeature[]
  | {
      features: EngineFeature[];
      /**
       * That the plugin, and each module that is listed, keeps all data of its users in its
       * database, and shows nothing of the backend's configuration.
       */
      dataOnlyInDatabase: true;
    };

/** Takes what is `'default'` from the dependencies of the backend. */
export function featuresOf(
  plugins: 'default' | Record<string, InstanceFeatures | 'default'>,
  installed = installedPlugins,
): Record<string, InstanceFeatures> {
  if (plugins === 'default') {
    return installed();
  }
  return Object.fromEntries(
    Object.entries(plugins).map(([id, features]) => {
      const found = features === 'default' ? installed()[id] : features;
      if (!found) {
        throw new Error(
          `The plugin '${id}' of onePerTenant is 'default', and the backend does not depend on a plugin of that name that was tried. List its features`,
        );
      }
      return [id, found];
    }),
  );
}

/**
 * Gives each tenant an instance of these plugins.
 *
 * @throws Error for an id that can't be one of them
 */
export function onePerTenant(
  plugins: Record<string, InstanceFeatures>,
  timing?: Partial<InstancesTiming>,
  events = new TenantEvents(),
) {
  const pluginIds = Object.keys(plugins);
  pluginIds.forEach(assertSchemaName);
  const found = Object.entries(plugins).map(([id, instance]) => ({
    plugin: findPlugin(id, { isDeclared: !Array.isArray(instance) }),
    features: Array.isArray(instance) ? instance : instance.features,
  }));
  return [
    createServiceFactory({
      service: forwardedPluginsServiceRef,
      deps: { backend: coreServices.rootInstanceMetadata },
      async factory({ backend }) {
        const installed = (await backend.getInstalledPlugins()).map(
          ({ pluginId }) => pluginId,
        );
        const missing = pluginIds.find(id => !installed.includes(id));
        if (missing !== undefined) {
          throw new Error(
            `The plugin '${missing}' is listed in onePerTenant, and this backend does not have it. Expected it to be added to the backend, for the default tenant`,
          );
        }
        return new ForwardedPlugins(found.map(({ plugin }) => plugin));
      },
    }),
    createServiceFactory({
      service: tenantPluginsServiceRef,
      deps: { plugins: forwardedPluginsServiceRef },
      factory: ({ plugins: forwarded }) => forwarded,
    }),
    ...found.map(({ plugin, features }) =>
      instancesModule(plugin, features, events, timing),
    ),
  ];
}

/** Runs the instances of one plugin, with the services that this plugin has. */
function instancesModule(
  plugin: KnownPlugin,
  features: EngineFeature[],
  events: TenantEvents,
  timing?: Partial<InstancesTiming>,
) {
  const pluginId = plugin.id;
  return createBackendModule({
    pluginId,
    moduleId: 'one-per-tenant',
    register(env) {
      env.registerInit({
        deps: {
          ...pluginServices,
          changes: tenantEngineChangesServiceRef,
          database: coreServices.database,
          engines: enginesServiceRef,
          httpRouter: coreServices.httpRouter,
          plugins: forwardedPluginsServiceRef,
          requests: requestsUnderWayServiceRef,
          rootLifecycle: coreServices.rootLifecycle,
          rootLogger: coreServices.rootLogger,
          tenancy: tenancyServiceRef,
          tenants: tenantStoreServiceRef,
          usage: tenantUsageServiceRef,
        },
        async init({
          changes,
          database,
          engines,
          httpRouter,
          logger,
          plugins,
          requests,
          rootLifecycle,
          rootLogger,
          // Once it is there, the database keeps tenants apart.
          tenancy: _,
          tenants,
          usage,
          ...services
        }) {
          engines.configs.checkInstances(plugin);
          for (const [paths, allow] of [
            [plugin.cookiePaths, 'user-cookie'],
            [plugin.publicPaths, 'unauthenticated'],
          ] as const) {
            paths?.forEach(path =>
              httpRouter.addAuthPolicy({
                path: `/.tenant/:slug${path}`,
                allow,
              }),
            );
          }
          const connection = await connectionOf(pluginId, database);
          const tasksSchema = await schemaOf(database);
          const schemas = new PluginSchemas({
            connection,
            pluginId,
            tasksSchema,
          });
          await schedulePurge({
            logger,
            name: `instance of the plugin '${pluginId}'`,
            scheduler: services.scheduler,
            tables: schemas,
            taskId: `tenancy-purge-${pluginId}-tables`,
            tenants,
          });
          const pool = new EnginePool({
            // Cut to the length that PostgreSQL allows.
            applicationName:
              `${engines.leases.applicationName} ${pluginId}`.slice(0, 63),
            connection,
            max: engines.configs.operator.sessions.instances,
            logger,
            onWork: (tenantId, ms) => usage.addWork(tenantId, ms),
          });
          engines.leases.addFence(async lost => {
            await endSessions(connection, lost);
            await freeTasks(connection, tasksSchema, lost);
          });
          // After the start of all plugins, which an instance may call at its own.
          rootLifecycle.addStartupHook(() => {
            const instances = PluginInstances.start({
              plugin,
              asleep: () => engines.asleep(),
              configs: engines.configs,
              events,
              features,
              leases: engines.leases,
              logger,
              pool,
              redact: secrets => redact(rootLogger, secrets),
              registry: changes,
              schemas,
              services: { ...services, logger },
              timing,
              works: engines.works,
            });
            const forwarding = {
              find: (id: string, slug: string) => instances.find(id, slug),
              logger,
              names: {
                plugin: `plugin '${pluginId}'`,
                engine: `instance of the plugin '${pluginId}'`,
              },
            };
            plugins.open(
              pluginId,
              forwardToEngine({
                ...forwarding,
                accepted: tenantId => instances.accepted(tenantId),
              }),
              findUpgrade(forwarding),
            );
            // The database and the other services still answer at this time.
            rootLifecycle.addBeforeShutdownHook(() => engines.leases.stop());
            // Requests come as long as the backend listens.
            rootLifecycle.addShutdownHook(async () => {
              await requests.answered();
              await instances.stop();
              await pool.close();
            });
          });
        },
      });
    },
  });
}

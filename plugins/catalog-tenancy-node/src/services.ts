import {
  coreServices,
  createServiceFactory,
  createServiceRef,
  type ServiceFactory,
  type ServiceRef,
} from '@backstage/backend-plugin-api';
import { PostgresTenantAuditTrail } from './audit/PostgresTenantAuditTrail';
import type { TenantAuditTrail } from './audit/TenantAuditTrail';
import type { CatalogStore } from './catalog/CatalogStore';
import { PostgresCatalogStore } from './catalog/PostgresCatalogStore';
import { type AdminDatabase } from './database/AdminDatabase';
import { AuditedAdminDatabase } from './database/AuditedAdminDatabase';
import { PooledTenantDatabase } from './database/PooledTenantDatabase';
import { type TenantDatabase } from './database/TenantDatabase';
import { readTenancyConfig } from './config/readTenancyConfig';
import type { TenantLimits } from './pool/TenantLimits';
import { startTenancy, type Tenancy } from './startup/startTenancy';
import { TenancyHealth } from './startup/TenancyHealth';
import { TenantInvitationStore } from './invitations/TenantInvitationStore';
import { TenantMemberStore } from './members/TenantMemberStore';
import type { TenantMembers } from './members/TenantMembers';
import {
  CatalogTenantOwnership,
  type TenantOwnership,
} from './members/TenantOwnership';
import { TenantShareStore } from './shares/TenantShareStore';
import { TenantSignInStore } from './signIn/TenantSignInStore';
import { type RegistryChange } from './tenants/ChangeListener';
import { TenantStore } from './tenants/TenantStore';
import { RegistrySnapshot } from './tenants/RegistrySnapshot';
import { RequestsUnderWay } from './tenants/RequestsUnderWay';
import { EventLoopWatch } from './work/EventLoopWatch';
import { type TenantDirectory } from './tenants/TenantDirectory';
import {
  createTenantGates,
  OpenTenantGate,
  type TenantGate,
  type TenantGates,
} from './tenants/TenantGate';
import { PostgresTenantUsageStore } from './usage/PostgresTenantUsageStore';
import type { TenantUsageStore } from './usage/TenantUsageStore';
import { TenantEngineStore } from './engines/TenantEngineStore';
import type { TenantEngineChanges } from './engines/TenantEngineRecord';
import { NO_TENANT_ENGINES, type TenantEngines } from './engines/TenantEngines';
import { NO_TENANT_PLUGINS, type TenantPlugins } from './engines/TenantPlugins';

type Instances<TDeps> = {
  [TName in keyof TDeps]: TDeps[TName] extends ServiceRef<infer TService>
    ? TService
    : never;
};

/** A service of the root scope with a default factory. */
function rootService<
  TService,
  TDeps extends Record<string, ServiceRef<unknown, 'root'>>,
>(
  id: string,
  deps: TDeps,
  factory: (deps: Instances<TDeps>) => TService | Promise<TService>,
): ServiceRef<TService, 'root', 'singleton'> {
  return createServiceRef<TService>({
    id,
    scope: 'root',
    defaultFactory: async service =>
      createServiceFactory({ service, deps, factory: factory as never }),
  });
}

/** A service of the plugin scope with a default factory. */
function pluginService<
  TService,
  TDeps extends Record<string, ServiceRef<unknown>>,
>(
  id: string,
  deps: TDeps,
  factory: (deps: Instances<TDeps>) => TService | Promise<TService>,
): ServiceRef<TService, 'plugin', 'singleton'> {
  return createServiceRef<TService>({
    id,
    scope: 'plugin',
    defaultFactory: async service =>
      createServiceFactory({ service, deps, factory: factory as never }),
  });
}

/**
 * The requests that have passed a gate and are not answered yet.
 *
 * @public
 */
export const requestsUnderWayServiceRef = rootService(
  'catalog-tenancy.requests-under-way',
  { lifecycle: coreServices.rootLifecycle },
  ({ lifecycle }): RequestsUnderWay => {
    const requests = new RequestsUnderWay();
    // Before shutdown, while the backend still listens: a plugin that answers a request may
    // call others.
    lifecycle.addBeforeShutdownHook(() => requests.answered());
    return requests;
  },
);

/**
 * Detects when the event loop is blocked, and attributes it to a tenant.
 *
 * @public
 */
export const eventLoopWatchServiceRef = rootService(
  'catalog-tenancy.event-loop-watch',
  {
    lifecycle: coreServices.rootLifecycle,
    logger: coreServices.rootLogger,
  },
  ({ lifecycle, logger }): EventLoopWatch => {
    const watch = EventLoopWatch.start({ logger });
    lifecycle.addShutdownHook(() => watch.stop());
    return watch;
  },
);

/**
 * Whether this process can serve tenants, for probes.
 *
 * @public
 */
export const tenancyHealthServiceRef = rootService(
  'catalog-tenancy.health',
  {},
  (): TenancyHealth => new TenancyHealth(),
);

const deps = {
  config: coreServices.rootConfig,
  health: tenancyHealthServiceRef,
  logger: coreServices.rootLogger,
  lifecycle: coreServices.rootLifecycle,
  requests: requestsUnderWayServiceRef,
};

/**
 * The configuration of tenancy, and the connection pool of all its services.
 *
 * With the flag on, creating it checks the isolation of tenants in the database; plugins that
 * depend on it fail to start if the check fails.
 *
 * @public
 */
export const tenancyServiceRef = createServiceRef<Tenancy>({
  id: 'catalog-tenancy.tenancy',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({ service, deps, factory: startTenancy }),
});

/**
 * Creates the service. A backend that adds this factory creates the service before it starts
 * any plugin; if that fails, the backend does not start and logs one error.
 *
 * @public
 */
export const tenancyServiceFactory: ServiceFactory<Tenancy, 'root'> =
  createServiceFactory({
    service: tenancyServiceRef,
    deps,
    factory: startTenancy,
  });

/**
 * The administrator's path, with audit events of the plugin that uses it.
 *
 * @public
 */
export const adminDatabaseServiceRef = pluginService(
  'catalog-tenancy.admin-database',
  { tenancy: tenancyServiceRef, auditor: coreServices.auditor },
  ({ tenancy: { pool, replica }, auditor }): AdminDatabase =>
    new AuditedAdminDatabase({ pool, auditor, replica }),
);

/** Dependencies of stores that change the registry. */
const forChanges = {
  tenancy: tenancyServiceRef,
  admin: adminDatabaseServiceRef,
};

/** The registry as this process knows it. */
const registrySnapshotServiceRef = rootService(
  'catalog-tenancy.registry-snapshot',
  {
    tenancy: tenancyServiceRef,
    logger: coreServices.rootLogger,
    lifecycle: coreServices.rootLifecycle,
  },
  async ({
    tenancy: { pool, config },
    logger,
    lifecycle,
  }): Promise<RegistrySnapshot> => {
    const snapshot = new RegistrySnapshot({ pool, logger });
    if (!config.enabled) {
      await snapshot.stopListening();
    }
    lifecycle.addShutdownHook(() => snapshot.close());
    return snapshot;
  },
);

/**
 * Notifies of changes to tenants and their members in any process.
 *
 * @public
 */
export interface TenantChanges {
  /**
   * Calls a listener after each change of the registry, when the directory and the members
   * return the new state.
   *
   * @param listener - gets no change if notifications may have been missed
   */
  onChange(listener: (change?: RegistryChange) => void): void;
}

/**
 * Notifies of changes to the registry, for code that keeps a connection open for a caller.
 *
 * @public
 */
export const tenantChangesServiceRef = rootService(
  'catalog-tenancy.tenant-changes',
  { snapshot: registrySnapshotServiceRef },
  ({ snapshot }): TenantChanges => ({
    onChange: listener =>
      snapshot.subscribe({
        onChange: listener,
        onListeningChange: () => listener(),
      }),
  }),
);

/**
 * The limits of single tenants in the registry, kept up to date.
 *
 * @public
 */
export const tenantLimitsServiceRef = rootService(
  'catalog-tenancy.limits',
  {
    tenancy: tenancyServiceRef,
    snapshot: registrySnapshotServiceRef,
  },
  ({ tenancy: { config, limits }, snapshot }): TenantLimits => {
    if (config.enabled) {
      snapshot.follow(limits);
    }
    return limits;
  },
);

/**
 * Runs statements in the context of one tenant.
 *
 * @public
 */
export const tenantDatabaseServiceRef = rootService(
  'catalog-tenancy.database',
  {
    tenancy: tenancyServiceRef,
    // Keeps the pool's limits up to date, also in a backend without gates.
    limits: tenantLimitsServiceRef,
  },
  ({ tenancy: { pool, replica } }): TenantDatabase =>
    new PooledTenantDatabase(pool, { replica }),
);

/**
 * The entities of tenants, for other plugins and modules of the same backend. It checks no
 * permissions: to act as a user, call `/api/catalog` over HTTP.
 *
 * @public
 */
export const catalogStoreServiceRef = rootService(
  'catalog-tenancy.catalog-store',
  {
    database: tenantDatabaseServiceRef,
    registry: registrySnapshotServiceRef,
  },
  (options): CatalogStore => new PostgresCatalogStore(options),
);

/**
 * Finds the tenant of a request by its slug.
 *
 * @public
 */
export const tenantDirectoryServiceRef = rootService(
  'catalog-tenancy.directory',
  { snapshot: registrySnapshotServiceRef },
  ({ snapshot }): TenantDirectory => snapshot,
);

/**
 * Looks up members of tenants.
 *
 * @public
 */
export const tenantMembersServiceRef = rootService(
  'catalog-tenancy.members',
  { snapshot: registrySnapshotServiceRef },
  ({ snapshot }): TenantMembers => snapshot,
);

/**
 * Looks up the ownership refs of a user in a tenant.
 *
 * @public
 */
export const tenantOwnershipServiceRef = rootService(
  'catalog-tenancy.ownership',
  {
    members: tenantMembersServiceRef,
    database: tenantDatabaseServiceRef,
    registry: registrySnapshotServiceRef,
  },
  // With a store of its own: gates also decide where that of the catalog does not start.
  ({ members, ...options }): TenantOwnership =>
    new CatalogTenantOwnership({
      members,
      store: new PostgresCatalogStore(options),
    }),
);

/** Dependencies of stores that record requests until the last one is answered. */
const forRecords = {
  tenancy: tenancyServiceRef,
  database: tenantDatabaseServiceRef,
  lifecycle: coreServices.rootLifecycle,
  logger: coreServices.rootLogger,
  requests: requestsUnderWayServiceRef,
};

/**
 * The audit trails of tenants.
 *
 * @public
 */
export const tenantAuditTrailServiceRef = rootService(
  'catalog-tenancy.audit-trail',
  forRecords,
  ({
    tenancy: { config, pool },
    database,
    lifecycle,
    logger,
    requests,
  }): TenantAuditTrail => {
    const trail = new PostgresTenantAuditTrail({
      config: config.audit,
      database,
      pool,
      logger,
    });
    // Before the pool closes, which also waits for the requests.
    lifecycle.addBeforeShutdownHook(async () => {
      await requests.answered();
      await trail.stop();
    });
    return trail;
  },
);

/**
 * The usage of tenants, by day.
 *
 * @public
 */
export const tenantUsageServiceRef = rootService(
  'catalog-tenancy.usage',
  forRecords,
  ({
    tenancy: { config, pool },
    database,
    lifecycle,
    logger,
    requests,
  }): TenantUsageStore => {
    const usage = new PostgresTenantUsageStore({ database, pool, logger });
    if (config.enabled) {
      usage.start();
      lifecycle.addBeforeShutdownHook(async () => {
        await requests.answered();
        await usage.stop();
      });
    }
    return usage;
  },
);

/**
 * The members of tenants, for other plugins and modules of the same backend. It checks no
 * permissions: to act as a user, call `/api/tenants` over HTTP.
 *
 * @public
 */
export const tenantMemberStoreServiceRef = pluginService(
  'catalog-tenancy.member-store',
  { ...forChanges, members: tenantMembersServiceRef },
  ({ tenancy: { pool }, admin, members }): TenantMemberStore =>
    new TenantMemberStore({ pool, admin, members }),
);

/**
 * Invitations into tenants, for other plugins and modules of the same backend. It checks no
 * permissions: to act as a user, call `/api/tenants` over HTTP.
 *
 * @public
 */
export const tenantInvitationStoreServiceRef = pluginService(
  'catalog-tenancy.invitation-store',
  { ...forChanges, members: tenantMembersServiceRef },
  ({ tenancy: { pool }, admin, members }): TenantInvitationStore =>
    new TenantInvitationStore({ pool, admin, members }),
);

/**
 * The shares between tenants, for other plugins and modules of the same backend. It checks no
 * permissions: to act as a user, call `/api/tenants` over HTTP.
 *
 * @public
 */
export const tenantShareStoreServiceRef = pluginService(
  'catalog-tenancy.share-store',
  forChanges,
  ({ tenancy: { pool }, admin }): TenantShareStore =>
    new TenantShareStore({ pool, admin }),
);

/**
 * The OpenID providers of tenants, for other plugins and modules of the same backend. It checks
 * no permissions: to act as a user, call `/api/tenants` over HTTP.
 *
 * @public
 */
export const tenantSignInStoreServiceRef = pluginService(
  'catalog-tenancy.sign-in-store',
  forChanges,
  ({ tenancy: { pool }, admin }): TenantSignInStore =>
    new TenantSignInStore({ pool, admin }),
);

/**
 * The gate in front of all routes of a plugin. A plugin depends on it to declare that it is
 * tenant-aware.
 *
 * The package `backstage-plugin-catalog-backend-module-tenancy` provides it. In a backend
 * without that package, a plugin that depends on the gate works for the default tenant while
 * the flag is off, and does not start while it is on.
 *
 * @public
 */
export const tenantGateServiceRef = pluginService(
  'catalog-tenancy.gate',
  {
    config: coreServices.rootConfig,
    httpRouter: coreServices.httpRouter,
    plugin: coreServices.pluginMetadata,
  },
  ({ config, httpRouter, plugin }): TenantGate => {
    if (readTenancyConfig(config).enabled) {
      throw new Error(
        `MULTI_TENANCY_ENABLED is on, but the plugin '${plugin.getId()}' has no gate that decides on the tenants of requests. Add backstage-plugin-catalog-backend-module-tenancy to the backend`,
      );
    }
    return new OpenTenantGate(httpRouter);
  },
);

/**
 * The gates of all plugins of this backend. Empty without the package
 * `backstage-plugin-catalog-backend-module-tenancy`, or with the flag off.
 *
 * @public
 */
export const tenantGatesServiceRef = rootService(
  'catalog-tenancy.gates',
  {},
  (): TenantGates => createTenantGates(),
);

/**
 * The registry of tenants, for other plugins and modules of the same backend. It checks no
 * permissions: to act as a user, call `/api/tenants` over HTTP.
 *
 * @public
 */
export const tenantStoreServiceRef = pluginService(
  'catalog-tenancy.tenant-store',
  {
    ...forChanges,
    database: tenantDatabaseServiceRef,
    directory: tenantDirectoryServiceRef,
  },
  ({ tenancy, admin, database, directory }): TenantStore =>
    new TenantStore({
      pool: tenancy.pool,
      admin,
      database,
      directory,
    }),
);

/**
 * Lists the engines of tenants, and notifies of changes to them.
 *
 * @public
 */
export const tenantEngineChangesServiceRef = rootService(
  'catalog-tenancy.tenant-engine-changes',
  { snapshot: registrySnapshotServiceRef },
  ({ snapshot }): TenantEngineChanges => snapshot,
);

/**
 * The configuration of tenants' catalog engines, for other plugins and modules of the same
 * backend. It checks no permissions: to act as a user, call `/api/tenants` over HTTP.
 *
 * @public
 */
export const tenantEngineStoreServiceRef = pluginService(
  'catalog-tenancy.tenant-engine-store',
  { ...forChanges, changes: tenantEngineChangesServiceRef },
  ({ tenancy: { pool }, admin, changes }): TenantEngineStore =>
    new TenantEngineStore({ pool, admin, changes }),
);

/**
 * The catalog engines of tenants. The package
 * `backstage-plugin-catalog-backend-module-tenant-engines` provides them; in a backend
 * without it they are not available.
 *
 * @public
 */
export const tenantEnginesServiceRef = rootService(
  'catalog-tenancy.tenant-engines',
  {},
  (): TenantEngines => NO_TENANT_ENGINES,
);

/**
 * The plugins that have an instance for each tenant, to which the gate forwards requests. The
 * package `backstage-plugin-catalog-backend-module-tenant-engines` provides them; in a backend
 * without it there are none.
 *
 * @public
 */
export const tenantPluginsServiceRef = rootService(
  'catalog-tenancy.tenant-plugins',
  {},
  (): TenantPlugins => NO_TENANT_PLUGINS,
);

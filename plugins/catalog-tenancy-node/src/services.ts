import {
  coreServices,
  createServiceFactory,
  createServiceRef,
  type ServiceFactory,
} from '@backstage/backend-plugin-api';
import type { CatalogStore } from './catalog/CatalogStore';
import { PostgresCatalogStore } from './catalog/PostgresCatalogStore';
import { type AdminDatabase } from './database/AdminDatabase';
import { AuditedAdminDatabase } from './database/AuditedAdminDatabase';
import { PooledTenantDatabase } from './database/PooledTenantDatabase';
import { type TenantDatabase } from './database/TenantDatabase';
import { readTenancyConfig } from './config/readTenancyConfig';
import type { TenantLimits } from './pool/TenantLimits';
import { startTenancy, type Tenancy } from './startup/startTenancy';
import { PostgresTenantInvitationStore } from './invitations/PostgresTenantInvitationStore';
import type { TenantInvitationStore } from './invitations/TenantInvitations';
import { PostgresTenantMemberStore } from './members/PostgresTenantMemberStore';
import type { TenantMembers, TenantMemberStore } from './members/TenantMembers';
import {
  CatalogTenantOwnership,
  type TenantOwnership,
} from './members/TenantOwnership';
import { PostgresTenantShareStore } from './shares/PostgresTenantShareStore';
import type { TenantShareStore } from './shares/TenantShares';
import { PostgresTenantSignInStore } from './signIn/PostgresTenantSignInStore';
import type { TenantSignInStore } from './signIn/TenantSignIns';
import { type RegistryChange } from './tenants/ChangeListener';
import { PostgresTenantStore } from './tenants/PostgresTenantStore';
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
import { type TenantStore } from './tenants/TenantStore';
import { PostgresTenantEngineStore } from './engines/PostgresTenantEngineStore';
import type {
  TenantEngineChanges,
  TenantEngineStore,
} from './engines/TenantEngineStore';
import { NO_TENANT_ENGINES, type TenantEngines } from './engines/TenantEngines';
import { NO_TENANT_PLUGINS, type TenantPlugins } from './engines/TenantPlugins';

/**
 * The requests behind the gates that are not answered yet.
 *
 * @public
 */
export const requestsUnderWayServiceRef = createServiceRef<RequestsUnderWay>({
  id: 'catalog-tenancy.requests-under-way',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: { lifecycle: coreServices.rootLifecycle },
      factory({ lifecycle }) {
        const requests = new RequestsUnderWay();
        // While the backend still listens: a plugin that answers one calls others.
        lifecycle.addBeforeShutdownHook(() => requests.answered());
        return requests;
      },
    }),
});

/**
 * Sees when this process stands still, and says for which tenant.
 *
 * @public
 */
export const eventLoopWatchServiceRef = createServiceRef<EventLoopWatch>({
  id: 'catalog-tenancy.event-loop-watch',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {
        lifecycle: coreServices.rootLifecycle,
        logger: coreServices.rootLogger,
      },
      factory({ lifecycle, logger }) {
        const watch = EventLoopWatch.start({ logger });
        lifecycle.addShutdownHook(() => watch.stop());
        return watch;
      },
    }),
});

const deps = {
  config: coreServices.rootConfig,
  logger: coreServices.rootLogger,
  lifecycle: coreServices.rootLifecycle,
  requests: requestsUnderWayServiceRef,
};

/**
 * The configuration of tenancy, and the one pool that all services work with.
 *
 * With the flag on it is there only once the database is known to keep tenants
 * apart: plugins that depend on it fail to start otherwise.
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
 * Makes the service. A backend that this is added to makes it before it starts any
 * plugin, and does not start at all where that fails, with one error.
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
 * The administrator's path, with audit events in the name of the plugin that takes
 * it.
 *
 * @public
 */
export const adminDatabaseServiceRef = createServiceRef<AdminDatabase>({
  id: 'catalog-tenancy.admin-database',
  scope: 'plugin',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: { tenancy: tenancyServiceRef, auditor: coreServices.auditor },
      factory: ({ tenancy: { pool, replica }, auditor }) =>
        new AuditedAdminDatabase({ pool, auditor, replica }),
    }),
});

/** What this process knows of the registry. */
const registrySnapshotServiceRef = createServiceRef<RegistrySnapshot>({
  id: 'catalog-tenancy.registry-snapshot',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {
        tenancy: tenancyServiceRef,
        logger: coreServices.rootLogger,
        lifecycle: coreServices.rootLifecycle,
      },
      async factory({ tenancy: { pool, config }, logger, lifecycle }) {
        const snapshot = RegistrySnapshot.create({ pool, logger });
        if (!config.enabled) {
          await snapshot.deafen();
        }
        lifecycle.addShutdownHook(() => snapshot.close());
        return snapshot;
      },
    }),
});

/**
 * Tells of changes to tenants and their members that any process makes.
 *
 * @public
 */
export interface TenantChanges {
  /**
   * Calls a listener after each change of the registry, when the directory and the members answer
   * with the new state.
   *
   * @param listener - is called without a change where changes may have passed unheard
   */
  onChange(listener: (change?: RegistryChange) => void): void;
}

/**
 * Tells of changes to the registry, to what keeps something open for a caller.
 *
 * @public
 */
export const tenantChangesServiceRef = createServiceRef<TenantChanges>({
  id: 'catalog-tenancy.tenant-changes',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: { snapshot: registrySnapshotServiceRef },
      factory: ({ snapshot }) => ({
        onChange: listener =>
          snapshot.subscribe({
            onChange: listener,
            onHearing: () => listener(),
          }),
      }),
    }),
});

/**
 * The tenants to which the registry gives limits of their own, as they are at any time.
 *
 * @public
 */
export const tenantLimitsServiceRef = createServiceRef<TenantLimits>({
  id: 'catalog-tenancy.limits',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {
        tenancy: tenancyServiceRef,
        snapshot: registrySnapshotServiceRef,
      },
      factory({ tenancy: { config, limits }, snapshot }) {
        if (config.enabled) {
          snapshot.follow(limits);
        }
        return limits;
      },
    }),
});

/**
 * The database, as one tenant at a time may see it.
 *
 * @public
 */
export const tenantDatabaseServiceRef = createServiceRef<TenantDatabase>({
  id: 'catalog-tenancy.database',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {
        tenancy: tenancyServiceRef,
        // Has the pool follow the limits of the registry, also where there is no gate.
        limits: tenantLimitsServiceRef,
      },
      factory: ({ tenancy: { pool, replica } }) =>
        new PooledTenantDatabase(pool, { replica }),
    }),
});

/**
 * The entities of tenants, for other plugins and modules of the same backend. It
 * asks no permissions: to act as a user, call `/api/catalog` over HTTP.
 *
 * @public
 */
export const catalogStoreServiceRef = createServiceRef<CatalogStore>({
  id: 'catalog-tenancy.catalog-store',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {
        tenancy: tenancyServiceRef,
        database: tenantDatabaseServiceRef,
      },
      factory: ({ tenancy, database }) =>
        new PostgresCatalogStore({ database, pool: tenancy.pool }),
    }),
});

/**
 * Finds the tenant of a request by its slug.
 *
 * @public
 */
export const tenantDirectoryServiceRef = createServiceRef<TenantDirectory>({
  id: 'catalog-tenancy.directory',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: { snapshot: registrySnapshotServiceRef },
      factory: ({ snapshot }) => snapshot,
    }),
});

/**
 * Tells who may enter a tenant.
 *
 * @public
 */
export const tenantMembersServiceRef = createServiceRef<TenantMembers>({
  id: 'catalog-tenancy.members',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: { snapshot: registrySnapshotServiceRef },
      factory: ({ snapshot }) => snapshot,
    }),
});

/**
 * Tells what a user owns in a tenant, and belongs to there.
 *
 * @public
 */
export const tenantOwnershipServiceRef = createServiceRef<TenantOwnership>({
  id: 'catalog-tenancy.ownership',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      // Not the service of the store: a gate stands also where that fails to start.
      deps: {
        members: tenantMembersServiceRef,
        tenancy: tenancyServiceRef,
        database: tenantDatabaseServiceRef,
      },
      factory: ({ members, tenancy, database }) =>
        new CatalogTenantOwnership({
          members,
          store: new PostgresCatalogStore({ database, pool: tenancy.pool }),
        }),
    }),
});

/**
 * The members of tenants, for other plugins and modules of the same backend. It asks no
 * permissions: to act as a user, call `/api/tenants` over HTTP.
 *
 * @public
 */
export const tenantMemberStoreServiceRef = createServiceRef<TenantMemberStore>({
  id: 'catalog-tenancy.member-store',
  scope: 'plugin',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {
        tenancy: tenancyServiceRef,
        admin: adminDatabaseServiceRef,
        members: tenantMembersServiceRef,
      },
      factory: ({ tenancy: { pool }, admin, members }) =>
        new PostgresTenantMemberStore({ pool, admin, members }),
    }),
});

/**
 * Invitations into tenants, for other plugins and modules of the same backend. It asks no
 * permissions: to act as a user, call `/api/tenants` over HTTP.
 *
 * @public
 */
export const tenantInvitationStoreServiceRef =
  createServiceRef<TenantInvitationStore>({
    id: 'catalog-tenancy.invitation-store',
    scope: 'plugin',
    defaultFactory: async service =>
      createServiceFactory({
        service,
        deps: {
          tenancy: tenancyServiceRef,
          admin: adminDatabaseServiceRef,
          members: tenantMembersServiceRef,
        },
        factory: ({ tenancy: { pool }, admin, members }) =>
          new PostgresTenantInvitationStore({ pool, admin, members }),
      }),
  });

/**
 * The shares between tenants, for other plugins and modules of the same backend. It asks no
 * permissions: to act as a user, call `/api/tenants` over HTTP.
 *
 * @public
 */
export const tenantShareStoreServiceRef = createServiceRef<TenantShareStore>({
  id: 'catalog-tenancy.share-store',
  scope: 'plugin',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: { tenancy: tenancyServiceRef, admin: adminDatabaseServiceRef },
      factory: ({ tenancy: { pool }, admin }) =>
        new PostgresTenantShareStore({ pool, admin }),
    }),
});

/**
 * The OpenID providers of tenants, for other plugins and modules of the same backend. It asks
 * no permissions: to act as a user, call `/api/tenants` over HTTP.
 *
 * @public
 */
export const tenantSignInStoreServiceRef = createServiceRef<TenantSignInStore>({
  id: 'catalog-tenancy.sign-in-store',
  scope: 'plugin',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: { tenancy: tenancyServiceRef, admin: adminDatabaseServiceRef },
      factory: ({ tenancy: { pool }, admin }) =>
        new PostgresTenantSignInStore({ pool, admin }),
    }),
});

/**
 * What stands in front of all routes of a plugin. A plugin depends on it to declare
 * that it is tenant-aware.
 *
 * The package `backstage-plugin-catalog-backend-module-tenancy` provides it. Where a
 * backend lacks that package, a plugin that depends on the gate works for the default
 * tenant while the flag is off, and does not start while it is on.
 *
 * @public
 */
export const tenantGateServiceRef = createServiceRef<TenantGate>({
  id: 'catalog-tenancy.gate',
  scope: 'plugin',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {
        config: coreServices.rootConfig,
        httpRouter: coreServices.httpRouter,
        plugin: coreServices.pluginMetadata,
      },
      factory({ config, httpRouter, plugin }) {
        if (readTenancyConfig(config).enabled) {
          throw new Error(
            `Nothing decides on the tenants of requests to the plugin '${plugin.getId()}', and MULTI_TENANCY_ENABLED is on. Expected the backend to have backstage-plugin-catalog-backend-module-tenancy`,
          );
        }
        return new OpenTenantGate(httpRouter);
      },
    }),
});

/**
 * The gates of all plugins of this backend; none without the package
 * `backstage-plugin-catalog-backend-module-tenancy`, or with the flag off.
 *
 * @public
 */
export const tenantGatesServiceRef = createServiceRef<TenantGates>({
  id: 'catalog-tenancy.gates',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({ service, deps: {}, factory: createTenantGates }),
});

/**
 * The registry of tenants, for other plugins and modules of the same backend. It
 * asks no permissions: to act as a user, call `/api/tenants` over HTTP.
 *
 * @public
 */
export const tenantStoreServiceRef = createServiceRef<TenantStore>({
  id: 'catalog-tenancy.tenant-store',
  scope: 'plugin',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {
        tenancy: tenancyServiceRef,
        admin: adminDatabaseServiceRef,
        database: tenantDatabaseServiceRef,
        directory: tenantDirectoryServiceRef,
      },
      factory: ({ tenancy, admin, database, directory }) =>
        new PostgresTenantStore({
          pool: tenancy.pool,
          admin,
          database,
          directory,
        }),
    }),
});

/**
 * Tells what runs the engines which tenants have one, and of each change to that.
 *
 * @public
 */
export const tenantEngineChangesServiceRef =
  createServiceRef<TenantEngineChanges>({
    id: 'catalog-tenancy.tenant-engine-changes',
    scope: 'root',
    defaultFactory: async service =>
      createServiceFactory({
        service,
        deps: { snapshot: registrySnapshotServiceRef },
        factory: ({ snapshot }) => snapshot,
      }),
  });

/**
 * Which tenants a catalog engine feeds, and its configuration, for other plugins and modules
 * of the same backend. It asks no permissions: to act as a user, call `/api/tenants` over
 * HTTP.
 *
 * @public
 */
export const tenantEngineStoreServiceRef = createServiceRef<TenantEngineStore>({
  id: 'catalog-tenancy.tenant-engine-store',
  scope: 'plugin',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {
        tenancy: tenancyServiceRef,
        admin: adminDatabaseServiceRef,
        changes: tenantEngineChangesServiceRef,
      },
      factory: ({ tenancy: { pool }, admin, changes }) =>
        new PostgresTenantEngineStore({ pool, admin, changes }),
    }),
});

/**
 * The catalog engines of tenants. The package
 * `backstage-plugin-catalog-backend-module-tenant-engines` provides them; in a backend
 * without it they are not available.
 *
 * @public
 */
export const tenantEnginesServiceRef = createServiceRef<TenantEngines>({
  id: 'catalog-tenancy.tenant-engines',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {},
      factory: () => NO_TENANT_ENGINES,
    }),
});

/**
 * The plugins of which each tenant has an instance, by which the gate forwards requests. The
 * package `backstage-plugin-catalog-backend-module-tenant-engines` provides them; in a backend
 * without it there are none.
 *
 * @public
 */
export const tenantPluginsServiceRef = createServiceRef<TenantPlugins>({
  id: 'catalog-tenancy.tenant-plugins',
  scope: 'root',
  defaultFactory: async service =>
    createServiceFactory({
      service,
      deps: {},
      factory: () => NO_TENANT_PLUGINS,
    }),
});

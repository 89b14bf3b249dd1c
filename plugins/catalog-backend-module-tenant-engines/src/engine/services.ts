import { defaultServiceFactories } from '@backstage/backend-defaults';
import {
  type AuditorService,
  type AuthService,
  type BackstageCredentials,
  type CacheService,
  coreServices,
  createServiceFactory,
  type HttpRouterServiceWebSocketHandler,
  type RootConfigService,
  type RootLoggerService,
  type ServiceFactory,
  type ServiceRef,
} from '@backstage/backend-plugin-api';
import {
  type MetricsService,
  metricsServiceRef,
} from '@backstage/backend-plugin-api/alpha';
import {
  type ActiveTenant,
  auditFor,
  withTenant,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';
import type { Knex } from 'knex';
import type { WithinReach } from '../reach/Reach';
import type { BackgroundWork } from '../work/BackgroundWork';
import { decorate, decorateKnown } from './decorate';
import { tenantScheduler } from './tenantScheduler';

/** The services of a plugin of the backend, with which its instances work for their tenants. */
export const pluginServices = {
  auditor: coreServices.auditor,
  auth: coreServices.auth,
  cache: coreServices.cache,
  discovery: coreServices.discovery,
  httpAuth: coreServices.httpAuth,
  logger: coreServices.logger,
  metrics: metricsServiceRef,
  permissions: coreServices.permissions,
  scheduler: coreServices.scheduler,
  userInfo: coreServices.userInfo,
};

export type PluginServices = {
  [TName in keyof typeof pluginServices]: (typeof pluginServices)[TName]['T'];
};

interface NestedServices {
  tenant: ActiveTenant;
  config: RootConfigService;
  knex: Knex;
  logger: RootLoggerService;
  /** Whether the plugin creates and upgrades its tables itself. */
  migrates: boolean;
  /** Receives the routes of the engine. */
  mount: (handler: RequestHandler) => void;
  /** Receives the WebSockets of the engine (Backstage 1.57 and later). */
  mountUpgrade: (upgrade: HttpRouterServiceWebSocketHandler) => void;
  /** Called when a task is scheduled, for which the engine has to run. */
  onTask?: () => void;
  /** Ends the scheduled tasks of the engine. */
  signal: AbortSignal;
  outer: PluginServices;
  work: BackgroundWork;
  /** The hosts to which scheduled tasks may connect. */
  within?: WithinReach;
}

/**
 * The services of one engine. Each that reaches beyond the engine keeps to its tenant; all
 * others are Backstage's own, made for this engine from its configuration, its database and
 * its router, and share nothing with those of another.
 *
 * Database and routers do not decorate those of the backend, which belong to other tenants too:
 * a method that is missing here must stay missing.
 */
export function createServices(options: NestedServices): ServiceFactory[] {
  const { config, knex, logger, migrates, mount, mountUpgrade, outer } =
    options;
  const { onTask, signal, tenant, within, work } = options;
  const { discovery, httpAuth, permissions, userInfo } = outer;
  const own = [
    provide(coreServices.rootConfig, config),
    provide(coreServices.rootLogger, logger),
    provide(coreServices.database, {
      getClient: async () => knex,
      // The tables of a catalog already exist, in the version of this release.
      migrations: { skip: !migrates },
    }),
    // Routes outside of the plugin belong to the backend.
    provide(coreServices.rootHttpRouter, {
      use: () => undefined,
      addWebSocketHandler: () => undefined,
    }),
    provide(coreServices.httpRouter, {
      use: mount,
      addWebSocketHandler: mountUpgrade,
      // The backend has required credentials on all routes before it forwards a request.
      addAuthPolicy: () => undefined,
    }),
    provide(coreServices.auth, tenantAuth(outer.auth, tenant)),
    provide(coreServices.auditor, tenantAuditor(outer.auditor, tenant)),
    provide(coreServices.cache, tenantCache(outer.cache, tenant.tenantId)),
    provide(
      coreServices.scheduler,
      tenantScheduler({
        scheduler: outer.scheduler,
        tenant,
        work,
        within,
        logger,
        signal,
        onTask,
      }),
    ),
    provide(coreServices.discovery, discovery),
    provide(coreServices.httpAuth, httpAuth),
    provide(coreServices.permissions, permissions),
    provide(coreServices.userInfo, userInfo),
    provide(metricsServiceRef, summableMetrics(outer.metrics)),
  ];
  const ids = new Set(own.map(({ service }) => service.id));
  return [
    ...defaultServiceFactories.filter(({ service }) => !ids.has(service.id)),
    ...own,
  ];
}

function provide<TService>(
  service: ServiceRef<TService, 'root'> | ServiceRef<TService, 'plugin'>,
  implementation: TService,
): ServiceFactory {
  const factory = () => implementation;
  return service.scope === 'root'
    ? createServiceFactory({ service, deps: {}, factory })
    : createServiceFactory({ service, deps: {}, factory });
}

/** All calls of an engine are for its tenant: an unknown method could issue other tokens. */
function tenantAuth(auth: AuthService, tenant: ActiveTenant): AuthService {
  const ofTenant = <TPrincipal>(
    credentials: BackstageCredentials<TPrincipal>,
  ): BackstageCredentials<TPrincipal> => withTenant(tenant, credentials);
  return decorateKnown('auth service', auth, {
    authenticate: (token, options) => auth.authenticate(token, options),
    isPrincipal: auth.isPrincipal.bind(auth),
    getNoneCredentials: () => auth.getNoneCredentials(),
    getOwnServiceCredentials: async () =>
      ofTenant(await auth.getOwnServiceCredentials()),
    getPluginRequestToken: options =>
      auth.getPluginRequestToken({
        ...options,
        onBehalfOf: ofTenant(options.onBehalfOf),
      }),
    getLimitedUserToken: credentials => auth.getLimitedUserToken(credentials),
    listPublicServiceKeys: () => auth.listPublicServiceKeys(),
  });
}

/** An unknown method would record events without the tenant; it returns no data. */
function tenantAuditor(
  auditor: AuditorService,
  tenant: ActiveTenant,
): AuditorService {
  return decorate(auditor, {
    createEvent: options =>
      auditor.createEvent(
        auditFor(tenant, {
          ...options,
          meta: { ...options.meta, tenant: tenant.tenantSlug },
        }),
      ),
  });
}

/** An unknown method would reach the keys of all tenants. */
function tenantCache(cache: CacheService, tenantId: string): CacheService {
  const keyOf = (key: string) => `tenant:${tenantId}:${key}`;
  return decorateKnown('cache', cache, {
    get: key => cache.get(keyOf(key)),
    set: (key, value, options) => cache.set(keyOf(key), value, options),
    delete: key => cache.delete(keyOf(key)),
    withOptions: options => tenantCache(cache.withOptions(options), tenantId),
  });
}

/**
 * Counters and histograms of all engines add up. What is observed at each collection does not:
 * hundreds of engines would query their tables, and report the same name with other values.
 */
function summableMetrics(metrics: MetricsService): MetricsService {
  const unobserved = {
    addCallback: () => undefined,
    removeCallback: () => undefined,
  };
  return decorate(metrics, {
    createObservableCounter: () => unobserved,
    createObservableUpDownCounter: () => unobserved,
    createObservableGauge: () => unobserved,
  });
}

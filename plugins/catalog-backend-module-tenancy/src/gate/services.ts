import { MiddlewareFactory } from '@backstage/backend-defaults/rootHttpRouter';
import {
  type BackstageCredentials,
  coreServices,
  createServiceFactory,
  createServiceRef,
  type DiscoveryService,
  type HttpAuthService,
  type LoggerService,
  type RootConfigService,
} from '@backstage/backend-plugin-api';
import { metricsServiceRef } from '@backstage/backend-plugin-api/alpha';
import {
  type AdministratorsConfig,
  carriedRole,
  OpenTenantGate,
  readAdministrators,
  readTenancyConfig,
  type TenancyConfig,
  type TenantGate,
  tenantChangesServiceRef,
  eventLoopWatchServiceRef,
  requestsUnderWayServiceRef,
  tenantAuditTrailServiceRef,
  tenantDirectoryServiceRef,
  tenantGateServiceRef,
  tenantGatesServiceRef,
  tenantLimitsServiceRef,
  tenantMembersServiceRef,
  tenantOwnershipServiceRef,
  tenantPluginsServiceRef,
  tenantUsageServiceRef,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import type { RequestHandler } from 'express';
import { createTenantMiddleware } from '../resolution/createTenantMiddleware';
import { HostnameTenants } from '../resolution/hostnames';
import { TenantTokens } from '../resolution/TenantTokens';
import { Admission, type Credentials } from './Admission';
import { recordEvents } from '../audit/recordEvents';
import { carryTenants } from '../calls/carryTenants';
import { calledFor } from '../calls/callTokens';
import { limitRate } from '../limits/limitRate';
import { followTenant } from './followTenant';
import { guardUpgrades } from './guardUpgrades';
import {
  type FindRole,
  leaveTenants,
  narrowAuthorize,
  narrowPermissions,
} from './narrowPermissions';
import { OpenSockets } from './OpenSockets';
import { Ownership } from './Ownership';
import { PluginGate } from './PluginGate';
import { refuseDataExceptions } from './refuseValues';
import { tenantOfPath } from './tenantOfPath';
import { whenClosed } from '../whenClosed';

const PERMISSION_PLUGIN = 'permission';

/**
 * Plugins of Backstage without data of tenants. docs/integrators/gate.md explains which others
 * are not listed.
 */
const SHARED_PLUGINS = ['app', 'auth', PERMISSION_PLUGIN, 'tenants'];

/** Shared by the gates of all plugins; undefined while the flag is off. */
interface GateSettings {
  administrators: AdministratorsConfig;
  /** Counts requests to all plugins together. */
  limitRate: RequestHandler;
  ownership: Ownership;
  /** The WebSockets of all plugins. */
  sockets: OpenSockets;
  tenancy: TenancyConfig;
  tokens: TenantTokens;
  shared: ReadonlySet<string>;
}

const gateSettingsServiceRef = createServiceRef<GateSettings | undefined>({
  id: 'catalog-tenancy.gate-settings',
  scope: 'root',
});

/** Validates the configuration at the start. */
export const gateSettingsServiceFactory = createServiceFactory({
  service: gateSettingsServiceRef,
  deps: {
    changes: tenantChangesServiceRef,
    config: coreServices.rootConfig,
    limits: tenantLimitsServiceRef,
    logger: coreServices.rootLogger,
    plugins: tenantPluginsServiceRef,
  },
  factory({ changes, config, limits, logger, plugins }) {
    const tenancy = readTenancyConfig(config);
    if (!tenancy.enabled) {
      return undefined;
    }
    const { baseDomains, jwtSecrets, rateLimits, sharedPlugins } = tenancy;
    const shared = new Set([...SHARED_PLUGINS, ...sharedPlugins]);
    const both = plugins.pluginIds.find(id => shared.has(id));
    if (both !== undefined) {
      throw new Error(
        `The plugin '${both}' is listed in onePerTenant, and it is shared by all tenants: ${
          SHARED_PLUGINS.includes(both)
            ? 'as always. Remove it from onePerTenant'
            : 'tenancy.plugins.shared lists it. Remove it from one of them'
        }`,
      );
    }
    // One error instead of one for each plugin.
    HostnameTenants.create({ config, baseDomains });
    explainOrigins(config, baseDomains).forEach(line => logger.warn(line));
    return {
      administrators: readAdministrators(config),
      limitRate: limitRate(rateLimits, limits),
      ownership: new Ownership({ logger }),
      sockets: new OpenSockets({ changes, logger }),
      tenancy: {
        ...tenancy,
        // A tenant's token is valid in its own tenant only.
        requireMatchingToken:
          tenancy.requireMatchingToken || tenancy.membership === 'required',
      },
      tokens: TenantTokens.create({ secrets: jwtSecrets, logger }),
      shared,
    };
  },
});

/**
 * Mounts a gate in front of all routes of each plugin.
 *
 * Modules start in no particular order, and some mount routes, directly or through the
 * registries of permissions or actions. So a service mounts the gate: Backstage creates
 * services with `initialization: 'always'` before it starts the first module. None of this
 * service's dependencies has routes.
 */
export const tenantGateServiceFactory = createServiceFactory({
  service: tenantGateServiceRef,
  initialization: 'always',
  deps: {
    auditor: coreServices.auditor,
    auth: coreServices.auth,
    config: coreServices.rootConfig,
    directory: tenantDirectoryServiceRef,
    discovery: coreServices.discovery,
    gates: tenantGatesServiceRef,
    httpAuth: coreServices.httpAuth,
    httpRouter: coreServices.httpRouter,
    lifecycle: coreServices.lifecycle,
    logger: coreServices.logger,
    members: tenantMembersServiceRef,
    metrics: metricsServiceRef,
    ownership: tenantOwnershipServiceRef,
    permissions: coreServices.permissions,
    plugin: coreServices.pluginMetadata,
    plugins: tenantPluginsServiceRef,
    requests: requestsUnderWayServiceRef,
    settings: gateSettingsServiceRef,
    trail: tenantAuditTrailServiceRef,
    usage: tenantUsageServiceRef,
    userInfo: coreServices.userInfo,
    watch: eventLoopWatchServiceRef,
  },
  async factory(services): Promise<TenantGate> {
    const { config, directory, httpAuth, httpRouter, logger } = services;
    const { permissions, plugins, settings, usage, userInfo } = services;
    if (!settings) {
      return new OpenTenantGate(httpRouter);
    }
    const pluginId = services.plugin.getId();
    const admission = new Admission({
      ...settings,
      httpAuth,
      members: services.members,
      userInfo,
    });
    carryTenants(services.auth, id => settings.shared.has(id));
    const isShared = settings.shared.has(pluginId);
    recordEvents(services.auditor, {
      pluginId,
      isShared,
      minSeverity: settings.tenancy.audit.minSeverity,
      trail: services.trail,
      credentialsOf: req => admission.credentialsOf(req),
    });
    const findRole: FindRole = async (credentials, tenant) =>
      (await carriedRole(credentials)) ??
      admission.roleOf(credentials as Credentials, tenant);
    if (isShared) {
      leaveTenants(permissions);
    } else {
      narrowPermissions(permissions, findRole);
    }
    // The plugin `permission` passes user info to the policy, which may depend on the tenant.
    if (!isShared || pluginId === PERMISSION_PLUGIN) {
      followTenant(userInfo, services.ownership);
    }
    const gate = new PluginGate({
      pluginId,
      isShared,
      instances: plugins.handlerOf(pluginId),
      isPublic: req => plugins.isPublic(pluginId, req.path),
      onEntered: (req, res, credentials) => {
        const tenant = tenantOf(req);
        usage.count(tenant, userOf(credentials));
        whenClosed(
          res,
          services.watch.begin(
            tenant.tenantSlug,
            `${req.method} /${pluginId}${req.path}`,
          ),
        );
      },
      directory,
      logger,
      admission,
      resolve: createTenantMiddleware({
        baseUrls: await findUrls(pluginId, services.discovery, logger),
        config,
        directory,
        logger,
        metrics: services.metrics,
        tenancy: settings.tenancy,
        tokens: settings.tokens,
        // Only if Backstage accepts the credentials: routes without authentication do not
        // verify the token.
        calledFor: async req => {
          const slug = calledFor(req.headers.authorization);
          return slug && (await admission.credentialsOf(req)) && slug;
        },
      }),
      limitRate: settings.limitRate,
    });
    carryByCookie(httpAuth, gate);
    httpRouter.use((_req, res, next) => {
      services.requests.begin(res);
      next();
    });
    if (plugins.pluginIds.includes(pluginId)) {
      httpRouter.use(tenantOfPath);
    }
    httpRouter.use(gate.router);
    if (pluginId === PERMISSION_PLUGIN) {
      httpRouter.use(
        narrowAuthorize(req => admission.credentialsOf(req), findRole),
      );
    }
    guardUpgrades({
      gate,
      httpRouter,
      onError: MiddlewareFactory.create({ config, logger }).error(),
      pluginId,
      sockets: settings.sockets,
      trustProxy: config.getOptional('backend.trustProxy'),
      upgrades: plugins.upgradesOf(pluginId),
    });
    services.lifecycle.addStartupHook(() =>
      // Behind the routes of the plugin. The type lacks handlers of errors, which Express takes.
      httpRouter.use(refuseDataExceptions as unknown as RequestHandler),
    );
    services.gates.add(pluginId, () => gate.isClosed);
    return gate;
  },
});

/**
 * Where a cookie is enough, plugins get other credentials than those that the gate has seen. Replaces
 * a method of the plugin's own service instance, as `carryTenants` does.
 */
function carryByCookie(httpAuth: HttpAuthService, gate: PluginGate): void {
  const read = httpAuth.credentials.bind(httpAuth);
  httpAuth.credentials = async (req, options) => {
    const credentials = await read(req, options);
    const { type } = credentials.principal as { type: string };
    if (options?.allowLimitedAccess && type !== 'none') {
      gate.carry(req, credentials as BackstageCredentials as Credentials);
    }
    return credentials;
  };
}

function userOf(credentials: Credentials | undefined): string | undefined {
  const principal = credentials?.principal;
  return principal?.type === 'user' ? principal.userEntityRef : undefined;
}

/** Warnings about settings that prevent a frontend at another origin from naming its tenant. */
function explainOrigins(
  config: RootConfigService,
  baseDomains: readonly string[],
): string[] {
  const lines = [];
  const allowed = [config.getOptional('backend.cors.allowedHeaders') ?? '*']
    .flat()
    .flatMap(names =>
      String(names)
        .toLowerCase()
        .split(/\s*,\s*/),
    );
  if (!allowed.includes('*') && !allowed.includes('x-tenant-slug')) {
    lines.push(
      'backend.cors.allowedHeaders lacks X-Tenant-Slug: browsers do not let a frontend on another origin name its tenant. Add it',
    );
  }
  const [app, backend] = ['app.baseUrl', 'backend.baseUrl'].map(key => {
    const url = config.getOptionalString(key);
    return url && new URL(url).hostname;
  });
  if (baseDomains.length === 0 && app && backend && app !== backend) {
    lines.push(
      `tenancy.baseDomains is not set, and the frontend at ${app} calls another host: a page at a tenant's hostname that does not send X-Tenant-Slug shows the catalog of the tenant 'default'. Set it`,
    );
  }
  return lines;
}

/**
 * The URLs at which other plugins and frontends find a plugin. Their hosts name no tenant, even
 * if a label looks like a slug.
 */
async function findUrls(
  pluginId: string,
  discovery: DiscoveryService,
  logger: LoggerService,
): Promise<string[]> {
  const found = await Promise.allSettled([
    discovery.getBaseUrl(pluginId),
    discovery.getExternalBaseUrl(pluginId),
  ]);
  return found.flatMap(result => {
    if (result.status === 'fulfilled') {
      return [result.value];
    }
    // For example, discovery may need a DNS record that does not exist yet.
    logger.warn(
      `A URL of the plugin '${pluginId}' cannot be resolved, so its host may be read as a tenant's: ${result.reason}`,
    );
    return [];
  });
}

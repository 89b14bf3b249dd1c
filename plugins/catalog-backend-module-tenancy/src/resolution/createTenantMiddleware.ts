import type {
  LoggerService,
  RootConfigService,
} from '@backstage/backend-plugin-api';
import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import {
  assignTenant,
  type TenancyConfig,
  type TenantDirectory,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request, RequestHandler, Response } from 'express';
import { HostnameTenants } from './HostnameTenants';
import { countResolutions } from './metrics';
import { quoted } from './requestHost';
import { type Resolution, TenantResolver } from './TenantResolver';
import { TenantTokens } from './TenantTokens';

/** What the answer to a request depends on beside its URL. */
const TENANT_HEADERS = [
  'Host',
  'X-Forwarded-Host',
  'Authorization',
  'X-Tenant-Slug',
];

/** The same, with base domains below which there may be pages of tenants. */
const PAGE_HEADERS = ['Origin', 'Referer'];

/** What resolution works with. */
export interface TenantMiddlewareOptions {
  /** Has `app.baseUrl` and `backend.baseUrl`, whose host names name no tenant. */
  config: RootConfigService;
  /** Other URLs of the backend, such as those at which plugins find each other. */
  baseUrls?: readonly string[];
  /** Says what names a tenant. */
  tenancy: TenancyConfig;
  /** Finds the tenant of a slug. */
  directory: TenantDirectory;
  /** Logs at the level `debug` why a request is refused, which the client does not see. */
  logger: LoggerService;
  /** Counts requests by outcome, source and tenant. */
  metrics?: MetricsService;
  /** Made from the configuration where absent. */
  tokens?: TenantTokens;
  /** The slug of the tenant for which another plugin makes a request, if one does. */
  calledFor?: (req: Request) => Promise<string | undefined>;
}

/**
 * Makes middleware that resolves each request to a tenant, which `tenantOf` returns to
 * the handlers after it.
 *
 * A request without an active tenant gets status 403 here. A request that names no
 * host or several, and a tenant that cannot be looked up, go to the error handlers.
 *
 * @throws `InputError` for configuration that is not of the expected form
 */
export function createTenantMiddleware(
  options: TenantMiddlewareOptions,
): RequestHandler {
  const { config, baseUrls, tenancy, directory, logger, metrics, calledFor } =
    options;
  const resolver = new TenantResolver({
    hostnames: HostnameTenants.create({
      config,
      baseUrls,
      baseDomains: tenancy.baseDomains,
    }),
    tokens:
      options.tokens ??
      TenantTokens.create({ secret: tenancy.jwtSecret, logger }),
    directory,
    requireMatchingToken: tenancy.requireMatchingToken,
  });
  const count = metrics ? countResolutions(metrics) : () => {};

  const headers = [
    ...TENANT_HEADERS,
    ...(tenancy.baseDomains.length > 0 ? PAGE_HEADERS : []),
  ];

  return (req, res, next) => {
    // Refusals too: a cache must not hand one tenant's answer to another.
    res.vary(headers.join(', '));
    const proceed = (resolution: Resolution) => {
      count(resolution);
      switch (resolution.outcome) {
        case 'resolved':
          assignTenant(req, resolution.tenant, resolution.source);
          next();
          break;
        case 'malformed':
          logger.debug(`Refused a request: ${resolution.error}`);
          next(resolution.error);
          break;
        case 'failed':
          next(resolution.error);
          break;
        default:
          logger.debug(explain(resolution));
          refuse(res);
      }
    };
    resolver
      .resolve(req, calledFor && (() => calledFor(req)))
      .then(proceed)
      .catch(next);
  };
}

/**
 * The same bytes whatever the reason, so that they do not show which tenants there are or
 * were. Express' `json` would not be: how it writes depends
 * on settings of the application.
 */
export function refuse(res: Response): void {
  res.status(403).type('application/json').send('{"error":"Invalid tenant"}');
}

function explain(
  resolution: Extract<
    Resolution,
    { outcome: 'invalid' | 'foreign' | 'mismatch' }
  >,
): string {
  const { outcome, source } = resolution;
  if (outcome === 'foreign') {
    return `Refused a request to the host ${quoted(
      resolution.host,
    )}: it is no base URL's and not one label below one of tenancy.baseDomains, or is no host name`;
  }
  const slug = quoted(resolution.slug);
  return outcome === 'mismatch'
    ? `Refused a request for tenant ${slug} (by its ${source}), because its token is for another`
    : `Refused a request for ${slug} (by its ${source}), which is no active tenant`;
}

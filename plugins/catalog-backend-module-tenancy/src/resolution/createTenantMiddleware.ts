import type {
  LoggerService,
  RootConfigService,
} from '@backstage/backend-plugin-api';
import type { MetricsService } from '@backstage/backend-plugin-api/alpha';
import {
  type ActiveTenant,
  assignTenant,
  DEFAULT_TENANT_SLUG,
  isTenantSlug,
  type TenancyConfig,
  type TenantDirectory,
  type TenantSource,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request, RequestHandler, Response } from 'express';
import {
  headerValues,
  HostnameTenants,
  quoted,
  requestHost,
} from './hostnames';
import { type TenantToken, TenantTokens } from './TenantTokens';

/** The headers that the tenant of a request depends on. */
const TENANT_HEADERS = [
  'Host',
  'X-Forwarded-Host',
  'Authorization',
  'X-Tenant-Slug',
];

/** Additional headers if there are base domains. */
const PAGE_HEADERS = ['Origin', 'Referer'];

/** The result of resolving the tenant of a request. */
type Resolution =
  | { outcome: 'resolved'; source: TenantSource; tenant: ActiveTenant }
  /** No active tenant has this slug. */
  | { outcome: 'invalid'; source: TenantSource; slug: string }
  /** The host does not belong to this portal. */
  | { outcome: 'foreign'; source: 'hostname'; host: string }
  /** The request names several hosts or an invalid one. */
  | { outcome: 'malformed'; source: 'hostname'; error: unknown }
  /** The token names another tenant. */
  | { outcome: 'mismatch'; source: TenantSource; slug: string }
  /** The look-up failed. */
  | { outcome: 'failed'; source: TenantSource; error: unknown };

/**
 * Resolves the tenant of a request (specification, "Tenant resolution"). In addition to the
 * specification's sources, a call between plugins belongs to the tenant in its token. Never
 * rejects.
 */
async function resolveTenant(
  req: Request,
  options: TenantMiddlewareOptions & {
    hostnames: HostnameTenants;
    tokens: TenantTokens;
  },
): Promise<Resolution> {
  let host: string;
  try {
    host = requestHost(req);
  } catch (error) {
    return { outcome: 'malformed', source: 'hostname', error };
  }
  const { directory, hostnames, tenancy, tokens } = options;
  const verdict = hostnames.read(host);
  if (verdict.kind === 'foreign') {
    return { outcome: 'foreign', source: 'hostname', host };
  }
  const token = tokens.fromHeader(req.headers.authorization);
  const named =
    verdict.kind === 'tenant'
      ? { source: 'hostname' as const, slug: verdict.slug }
      : chooseSlug(req, token, hostnames);
  let called: string | undefined;
  try {
    called = await options.calledFor?.(req);
  } catch (error) {
    return { outcome: 'failed', source: 'call', error };
  }
  // A call between plugins must not name another tenant by other sources.
  if (
    called !== undefined &&
    named.source !== 'default' &&
    named.slug !== called
  ) {
    return { outcome: 'mismatch', ...named };
  }
  const { source, slug } =
    called === undefined ? named : { source: 'call' as const, slug: called };
  // Also checks expired tokens: the token may have expired after Backstage accepted it.
  if (tenancy.requireMatchingToken && token && token.tenantSlug !== slug) {
    return { outcome: 'mismatch', source, slug };
  }
  if (!isTenantSlug(slug)) {
    return { outcome: 'invalid', source, slug };
  }
  try {
    const tenant = await directory.findActive(slug);
    return tenant
      ? { outcome: 'resolved', source, tenant }
      : { outcome: 'invalid', source, slug };
  } catch (error) {
    return { outcome: 'failed', source, error };
  }
}

/**
 * The sources after the hostname. The first one with a slug decides, even if no tenant has
 * it.
 */
function chooseSlug(
  req: Request,
  token: TenantToken | undefined,
  hostnames: HostnameTenants,
): { source: TenantSource; slug: string } {
  if (token && !token.expired) {
    return { source: 'token', slug: token.tenantSlug };
  }
  // A repeated header is joined with a comma, which makes it an invalid slug.
  const fromHeader = headerValues(req, 'x-tenant-slug').join(', ');
  if (fromHeader) {
    return { source: 'header', slug: fromHeader };
  }
  const fromOrigin = hostnames.readOrigin(
    req.headers.origin ?? req.headers.referer,
  );
  return fromOrigin === undefined
    ? { source: 'default', slug: DEFAULT_TENANT_SLUG }
    : { source: 'origin', slug: fromOrigin };
}

/** Options of {@link createTenantMiddleware}. */
export interface TenantMiddlewareOptions {
  /** Contains `app.baseUrl` and `backend.baseUrl`, whose hosts name no tenant. */
  config: RootConfigService;
  /** Other URLs of the backend, such as those for calls between plugins. */
  baseUrls?: readonly string[];
  /** The configuration of tenancy. */
  tenancy: TenancyConfig;
  /** Looks up active tenants. */
  directory: TenantDirectory;
  /** Logs at `debug` why a request is refused; the client does not see the reason. */
  logger: LoggerService;
  /** Counts requests by outcome, source and tenant. */
  metrics?: MetricsService;
  /** Created from the configuration by default. */
  tokens?: TenantTokens;
  /** Reads the slug in the token of another plugin's call, if any. */
  calledFor?: (req: Request) => Promise<string | undefined>;
}

/**
 * Creates middleware that resolves the tenant of each request, which `tenantOf` then returns.
 *
 * Answers 403 to a request without an active tenant. A request with several hosts or an invalid
 * one, and a failed look-up, go to the error handlers.
 *
 * @throws `InputError` for invalid configuration
 */
export function createTenantMiddleware(
  options: TenantMiddlewareOptions,
): RequestHandler {
  const { config, baseUrls, tenancy, logger, metrics } = options;
  const resolving = {
    ...options,
    hostnames: HostnameTenants.create({
      config,
      baseUrls,
      baseDomains: tenancy.baseDomains,
    }),
    tokens:
      options.tokens ??
      TenantTokens.create({ secrets: tenancy.jwtSecrets, logger }),
  };
  const count = metrics ? countResolutions(metrics) : () => {};

  const headers = [
    ...TENANT_HEADERS,
    ...(tenancy.baseDomains.length > 0 ? PAGE_HEADERS : []),
  ];

  return (req, res, next) => {
    // Also on refusals, so that a cache does not return one tenant's response to another.
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
    resolveTenant(req, resolving).then(proceed).catch(next);
  };
}

/**
 * Sends the same bytes for every reason, so that they do not reveal which tenants exist.
 * Express' `json` depends on settings of the application.
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
    )}: it is neither that of a base URL nor one label below one of tenancy.baseDomains`;
  }
  const slug = quoted(resolution.slug);
  return outcome === 'mismatch'
    ? `Refused a request for tenant ${slug} (by its ${source}), because its token is for another`
    : `Refused a request for ${slug} (by its ${source}), which is not an active tenant`;
}

/** Counts requests by outcome, source and, if resolved, tenant. */
function countResolutions(
  metrics: MetricsService,
): (resolution: Resolution) => void {
  const count = metrics.createCounter('tenancy.resolutions.count', {
    description: 'Requests by the source of their tenant, and the outcome',
    unit: '{request}',
  });
  return resolution => {
    const { outcome, source } = resolution;
    // Unknown slugs are no attribute: callers could create any number of time series.
    count.add(
      1,
      resolution.outcome === 'resolved'
        ? { outcome, source, tenant: resolution.tenant.tenantSlug }
        : { outcome, source },
    );
  };
}

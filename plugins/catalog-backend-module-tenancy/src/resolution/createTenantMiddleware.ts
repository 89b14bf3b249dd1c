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
  type HostedRequest,
  HostnameTenants,
  quoted,
  requestHost,
} from './hostnames';
import { type TenantToken, TenantTokens } from './TenantTokens';

/** What the answer to a request depends on beside its URL. */
const TENANT_HEADERS = [
  'Host',
  'X-Forwarded-Host',
  'Authorization',
  'X-Tenant-Slug',
];

/** The same, with base domains below which there may be pages of tenants. */
const PAGE_HEADERS = ['Origin', 'Referer'];

/** What of a request names its tenant. */
type TenantRequest = HostedRequest & Pick<Request, 'headers'>;

/** What became of the attempt to find the tenant of a request. */
type Resolution =
  | { outcome: 'resolved'; source: TenantSource; tenant: ActiveTenant }
  /** There is no active tenant with this slug. */
  | { outcome: 'invalid'; source: TenantSource; slug: string }
  /** The host is none of this portal's. */
  | { outcome: 'foreign'; source: 'hostname'; host: string }
  /** It names no host, or several. */
  | { outcome: 'malformed'; source: 'hostname'; error: unknown }
  /** The token is for another tenant. */
  | { outcome: 'mismatch'; source: TenantSource; slug: string }
  /** It could not be found out. */
  | { outcome: 'failed'; source: TenantSource; error: unknown };

/**
 * Finds the tenant of a request (specification, "Tenant resolution"). A call of another
 * plugin that handles a request of a tenant belongs to that tenant: none of the
 * specification's sources is in it.
 */
class TenantResolver {
  readonly #hostnames: HostnameTenants;
  readonly #tokens: TenantTokens;
  readonly #directory: TenantDirectory;
  readonly #requireMatchingToken: boolean;

  constructor(options: {
    hostnames: HostnameTenants;
    tokens: TenantTokens;
    directory: TenantDirectory;
    requireMatchingToken: boolean;
  }) {
    this.#hostnames = options.hostnames;
    this.#tokens = options.tokens;
    this.#directory = options.directory;
    this.#requireMatchingToken = options.requireMatchingToken;
  }

  /**
   * Never rejects.
   *
   * @param calledFor - finds the slug of the tenant for which another plugin makes the
   * request, if one does
   */
  async resolve(
    req: TenantRequest,
    calledFor: () => Promise<string | undefined> = async () => undefined,
  ): Promise<Resolution> {
    let host: string;
    try {
      host = requestHost(req);
    } catch (error) {
      return { outcome: 'malformed', source: 'hostname', error };
    }
    const verdict = this.#hostnames.read(host);
    if (verdict.kind === 'foreign') {
      return { outcome: 'foreign', source: 'hostname', host };
    }
    const token = this.#tokens.fromHeader(req.headers.authorization);
    const named =
      verdict.kind === 'tenant'
        ? { source: 'hostname' as const, slug: verdict.slug }
        : this.#chooseSlug(req, token);
    let called: string | undefined;
    try {
      called = await calledFor();
    } catch (error) {
      return { outcome: 'failed', source: 'call', error };
    }
    // A plugin acts in the tenant that it was called in, and in no other that its call
    // names besides.
    if (
      called !== undefined &&
      named.source !== 'default' &&
      named.slug !== called
    ) {
      return { outcome: 'mismatch', ...named };
    }
    const { source, slug } =
      called === undefined ? named : { source: 'call' as const, slug: called };
    // A token that has expired counts here: Backstage may have let it pass a
    // moment ago, when it had not.
    if (this.#requireMatchingToken && token && token.tenantSlug !== slug) {
      return { outcome: 'mismatch', source, slug };
    }
    if (!isTenantSlug(slug)) {
      return { outcome: 'invalid', source, slug };
    }
    try {
      const tenant = await this.#directory.findActive(slug);
      return tenant
        ? { outcome: 'resolved', source, tenant }
        : { outcome: 'invalid', source, slug };
    } catch (error) {
      return { outcome: 'failed', source, error };
    }
  }

  /** The sources after the hostname. The first that yields a slug decides, even if it names no tenant. */
  #chooseSlug(
    req: TenantRequest,
    token: TenantToken | undefined,
  ): { source: TenantSource; slug: string } {
    if (token && !token.expired) {
      return { source: 'token', slug: token.tenantSlug };
    }
    // Of a header that is repeated, no part is a slug: it has a comma between them.
    const fromHeader = headerValues(req, 'x-tenant-slug').join(', ');
    if (fromHeader) {
      return { source: 'header', slug: fromHeader };
    }
    const fromOrigin = this.#hostnames.readOrigin(
      req.headers.origin ?? req.headers.referer,
    );
    return fromOrigin === undefined
      ? { source: 'default', slug: DEFAULT_TENANT_SLUG }
      : { source: 'origin', slug: fromOrigin };
  }
}

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
      TenantTokens.create({ secrets: tenancy.jwtSecrets, logger }),
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

/** Counts what became of requests, by source and, where one was found, by tenant. */
function countResolutions(
  metrics: MetricsService,
): (resolution: Resolution) => void {
  const count = metrics.createCounter('tenancy.resolutions.count', {
    description:
      'Requests by where their tenant was named, and what became of it',
    unit: '{request}',
  });
  return resolution => {
    const { outcome, source } = resolution;
    // A slug that names no tenant is the caller's invention. With it as an attribute
    // anybody could make up time series without end.
    count.add(
      1,
      resolution.outcome === 'resolved'
        ? { outcome, source, tenant: resolution.tenant.tenantSlug }
        : { outcome, source },
    );
  };
}

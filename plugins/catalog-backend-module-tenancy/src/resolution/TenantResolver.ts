import {
  type ActiveTenant,
  DEFAULT_TENANT_SLUG,
  isTenantSlug,
  type TenantDirectory,
  type TenantSource,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import type { HostnameTenants } from './HostnameTenants';
import { headerValues, type HostedRequest, requestHost } from './requestHost';
import type { TenantToken, TenantTokens } from './TenantTokens';

/** What of a request names its tenant. */
export type TenantRequest = HostedRequest & Pick<Request, 'headers'>;

/** What became of the attempt to find the tenant of a request. */
export type Resolution =
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
export class TenantResolver {
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

import {
  type ActiveTenant,
  DEFAULT_TENANT_SLUG,
  isTenantSlug,
  type TenantDirectory,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import type { HostnameTenants } from './HostnameTenants';
import type { TenantToken, TenantTokens } from './TenantTokens';

/** Where a slug was taken from. */
export type SlugSource = 'hostname' | 'token' | 'header' | 'default';

/** What became of the attempt to find the tenant of a request. */
export type Resolution =
  | { outcome: 'resolved'; source: SlugSource; tenant: ActiveTenant }
  /** There is no active tenant with this slug. */
  | { outcome: 'invalid'; source: SlugSource; slug: string }
  /** The token is for another tenant. */
  | { outcome: 'mismatch'; source: SlugSource; slug: string }
  /** It could not be found out. */
  | { outcome: 'failed'; source: SlugSource; error: unknown };

/** Finds the tenant of a request (specification, "Tenant resolution"). */
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

  /** Never rejects. */
  async resolve(
    req: Pick<Request, 'hostname' | 'headers'>,
  ): Promise<Resolution> {
    const token = this.#tokens.fromHeader(req.headers.authorization);
    const { source, slug } = this.#chooseSlug(req, token);
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

  /** The first source that yields a slug decides, even if it names no tenant. */
  #chooseSlug(
    req: Pick<Request, 'hostname' | 'headers'>,
    token: TenantToken | undefined,
  ): { source: SlugSource; slug: string } {
    const fromHostname = this.#hostnames.slugOf(req.hostname);
    if (fromHostname !== undefined) {
      return { source: 'hostname', slug: fromHostname };
    }
    if (token && !token.expired) {
      return { source: 'token', slug: token.tenantSlug };
    }
    const fromHeader = readHeader(req);
    if (fromHeader) {
      return { source: 'header', slug: fromHeader };
    }
    return { source: 'default', slug: DEFAULT_TENANT_SLUG };
  }
}

/**
 * Node.js drops blanks around the value. It joins those of a header that is
 * repeated, with a comma between them, which no slug has.
 */
function readHeader(req: Pick<Request, 'headers'>): string | undefined {
  return req.headers['x-tenant-slug']?.toString();
}

import { NotFoundError } from '@backstage/errors';
import type {
  ActiveTenant,
  TenantSignInStore,
} from 'backstage-plugin-catalog-tenancy-node';
import type { PutTenantSignIn } from 'backstage-plugin-tenants-common';
import { type BaseClient, custom, Issuer } from 'openid-client';
import type { SignInConfig } from './SignInConfig';

/**
 * How long the metadata of a provider are kept, in milliseconds: everybody may begin to sign in, and
 * each attempt would ask the provider.
 */
const KEPT_MS = 60_000;

/** How far the clock of a provider may differ, in seconds. */
const CLOCK_TOLERANCE_S = 10;

/** One tenant, its provider, and the client of that. */
export interface TenantClient {
  tenant: ActiveTenant;
  provider: PutTenantSignIn;
  client: BaseClient;
}

/**
 * Opens the provider of a tenant as the registry has it at this moment, within the bounds of what
 * a tenant may reach.
 */
export class TenantClients {
  readonly #signIns: Pick<TenantSignInStore, 'find'>;
  readonly #config: SignInConfig;
  /** The metadata that are kept or asked for, by issuer. */
  readonly #issuers = new Map<string, Promise<Issuer<BaseClient>>>();

  constructor(options: {
    signIns: Pick<TenantSignInStore, 'find'>;
    config: SignInConfig;
  }) {
    this.#signIns = options.signIns;
    this.#config = options.config;
  }

  /**
   * Works with the provider of a tenant.
   *
   * @throws NotFoundError where there is none, in the same words for a tenant that does not exist
   */
  async use<T>(
    tenantSlug: string,
    work: (opened: TenantClient) => Promise<T>,
  ): Promise<T> {
    const found = await this.#signIns.find(tenantSlug);
    if (!found) {
      throw new NotFoundError('This tenant has no sign-in of its own');
    }
    const { tenant, provider } = found;
    const client_secret = await this.#config.secretOf(tenant, provider);
    return this.#config.within(new URL(provider.issuer), async () => {
      const { metadata } = await this.#find(provider.issuer);
      // With no keys yet, which it would keep for a minute after the provider has others.
      const { Client } = new Issuer(metadata);
      const client = new Client({
        client_id: provider.client_id,
        client_secret,
        response_types: ['code'],
      });
      client[custom.clock_tolerance] = CLOCK_TOLERANCE_S;
      return work({ tenant, provider, client });
    });
  }

  /** Concurrent calls share one request. */
  #find(url: string): Promise<Issuer<BaseClient>> {
    const known = this.#issuers.get(url);
    if (known) {
      return known;
    }
    const found = discover(url);
    this.#issuers.set(url, found);
    const forget = () => this.#issuers.delete(url);
    found.then(() => setTimeout(forget, KEPT_MS).unref(), forget);
    return found;
  }
}

async function discover(url: string): Promise<Issuer<BaseClient>> {
  const issuer = await Issuer.discover(url);
  if (issuer.metadata.issuer !== url) {
    throw new NotFoundError(
      'The metadata of the provider names another issuer than the sign-in of this tenant',
    );
  }
  return issuer;
}

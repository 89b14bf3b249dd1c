import type { RootConfigService } from '@backstage/backend-plugin-api';
import { NotAllowedError } from '@backstage/errors';
import {
  type ActiveTenant,
  readAdministrators,
  readTenancyConfig,
} from 'backstage-plugin-catalog-tenancy-node';
import type { PutTenantSignIn } from 'backstage-plugin-tenants-common';
import { EngineConfigs } from '../config/EngineConfigs';
import { obeyReach, Reach } from '../reach/Reach';

const KEY = 'auth.providers.tenant';
const TIMEOUT_MS = 10_000;
/** Of metadata, keys, tokens and claims, as they come over a connection. */
const MAX_BYTES = 1024 * 1024;

/** The operator's settings for the sign-in of tenants in app-config. */
export class SignInConfig {
  readonly #configs: EngineConfigs;
  readonly #administrators: ReadonlySet<string>;
  /** Of what an attempt is bound by. */
  readonly key: string;

  static isSwitchedOn(config: RootConfigService): boolean {
    return config.has(KEY);
  }

  /** @throws Error that names the key that is wrong */
  constructor(config: RootConfigService) {
    const { enabled, membership, membershipOfDefault } =
      readTenancyConfig(config);
    if (
      !enabled ||
      membership !== 'required' ||
      membershipOfDefault !== 'members'
    ) {
      throw new Error(
        `${KEY} lets tenants sign in users, who may read only tenants that they are members of. Set MULTI_TENANCY_ENABLED=true, ` +
          'tenancy.membership to required and tenancy.membershipOfDefault to members',
      );
    }
    this.key = config.getString('auth.session.secret');
    this.#configs = EngineConfigs.create({ config });
    this.#administrators = readAdministrators(config).users;
    obeyReach();
  }

  /** Whether `tenancy.admins` lists a user; no tenant may sign that user in. */
  isAdministrator(userRef: string): boolean {
    return this.#administrators.has(userRef);
  }

  /** @throws InputError that names the reference, and no secret */
  async secretOf(
    tenant: ActiveTenant,
    { client_secret }: PutTenantSignIn,
  ): Promise<string> {
    const { data } = await this.#configs.withSecrets(tenant, { client_secret });
    return String(data.client_secret);
  }

  /**
   * Runs work that connects to a provider: on the internet by https, or at a host that the
   * operator lists.
   */
  within<T>(issuer: URL, work: () => Promise<T>): Promise<T> {
    const { isListed } = this.#configs;
    if (issuer.protocol !== 'https:' && !isListed(issuer)) {
      throw new NotAllowedError(
        'The provider has to be reached by https, unless the operator lists its host',
      );
    }
    return new Reach({
      isListed,
      maxBytesOfConnection: MAX_BYTES,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).run(work);
  }
}

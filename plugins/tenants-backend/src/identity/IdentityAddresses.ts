import type { AuthService, LoggerService } from '@backstage/backend-plugin-api';
import { ServiceUnavailableError } from '@backstage/errors';
import type { CatalogService } from '@backstage/plugin-catalog-node';
import { withTenant } from 'backstage-plugin-catalog-tenancy-node';
import { IDENTITIES } from './IdentityCatalog';

/**
 * The addresses of users, as the identity catalog has them: no tenant and no provider of one
 * writes there.
 */
export class IdentityAddresses {
  readonly #auth: AuthService;
  readonly #catalog: Pick<CatalogService, 'getEntityByRef'>;
  readonly #logger: LoggerService;

  constructor(options: {
    auth: AuthService;
    catalog: Pick<CatalogService, 'getEntityByRef'>;
    logger: LoggerService;
  }) {
    this.#auth = options.auth;
    this.#catalog = options.catalog;
    this.#logger = options.logger;
  }

  /** @throws ServiceUnavailableError where the catalog does not answer */
  async find(userRef: string): Promise<string | undefined> {
    try {
      const entity = await this.#catalog.getEntityByRef(userRef, {
        // The plugin's own: a policy may keep people from their own entity.
        credentials: withTenant(
          IDENTITIES,
          await this.#auth.getOwnServiceCredentials(),
        ),
      });
      const profile = entity?.spec?.profile;
      const email =
        typeof profile === 'object' && profile !== null && 'email' in profile
          ? profile.email
          : undefined;
      return typeof email === 'string' ? email : undefined;
    } catch (error) {
      const message =
        "The catalog of the default tenant, which has the addresses of users, can't be read at the moment";
      // Its words may name hosts, which callers need not know.
      this.#logger.warn(`${message}: ${error}`);
      throw new ServiceUnavailableError(message);
    }
  }
}

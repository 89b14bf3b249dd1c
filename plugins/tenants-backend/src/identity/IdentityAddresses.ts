import type { AuthService, LoggerService } from '@backstage/backend-plugin-api';
import { ServiceUnavailableError } from '@backstage/errors';
import type { CatalogService } from '@backstage/plugin-catalog-node';
import { withTenant } from 'backstage-plugin-catalog-tenancy-node';
import { IDENTITIES } from './IdentityCatalog';

/**
 * The addresses of users in the identity catalog, to which neither tenants nor their identity
 * providers write.
 */
export class IdentityAddresses {
  constructor(
    private readonly options: {
      auth: AuthService;
      catalog: Pick<CatalogService, 'getEntityByRef'>;
      logger: LoggerService;
    },
  ) {}

  /** @throws ServiceUnavailableError if the catalog does not answer */
  async find(userRef: string): Promise<string | undefined> {
    try {
      const entity = await this.options.catalog.getEntityByRef(userRef, {
        // The plugin's own credentials: a policy may hide users' entities from them.
        credentials: withTenant(
          IDENTITIES,
          await this.options.auth.getOwnServiceCredentials(),
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
        'The catalog of the default tenant, which has the addresses of users, cannot be read at the moment';
      // The error may name hosts, so it is only logged.
      this.options.logger.warn(`${message}: ${error}`);
      throw new ServiceUnavailableError(message);
    }
  }
}

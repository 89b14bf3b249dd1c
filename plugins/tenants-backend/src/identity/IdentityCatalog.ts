import type { AuthService, LoggerService } from '@backstage/backend-plugin-api';
import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import {
  CustomErrorBase,
  isError,
  ServiceUnavailableError,
} from '@backstage/errors';
import type { CatalogService } from '@backstage/plugin-catalog-node';
import {
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  withTenant,
} from 'backstage-plugin-catalog-tenancy-node';
import type {
  CatalogPrincipal,
  FindPrincipals,
  Page,
} from 'backstage-plugin-tenants-common';
import type { CallerCredentials } from '../authorization/Administrators';

/** The default tenant, independent of the request's tenant. */
const IDENTITIES = {
  tenantId: DEFAULT_TENANT_ID,
  tenantSlug: DEFAULT_TENANT_SLUG,
};

const KINDS = ['user', 'group'] as const;
const SHOWN = [
  'kind',
  'metadata.name',
  'metadata.namespace',
  'metadata.title',
  'spec.profile.displayName',
];
const SEARCHED = [
  'metadata.name',
  'metadata.title',
  'spec.profile.displayName',
];

/**
 * The caller may change members, but may not read the identity catalog. A known principal can
 * still be added.
 */
class IdentityCatalogNotAllowedError extends CustomErrorBase {
  name = 'IdentityCatalogNotAllowedError' as const;
  readonly statusCode = 403;
}

/**
 * The users and groups of the default tenant's catalog, to which neither other tenants nor their
 * identity providers write.
 */
export class IdentityCatalog {
  constructor(
    private readonly options: {
      auth: AuthService;
      catalog: Pick<
        CatalogService,
        'getEntityByRef' | 'getEntitiesByRefs' | 'queryEntities'
      >;
      logger: LoggerService;
    },
  ) {}

  /**
   * The e-mail address of a user.
   *
   * @throws ServiceUnavailableError if the catalog does not answer
   */
  async addressOf(userRef: string): Promise<string | undefined> {
    const { auth, catalog } = this.options;
    try {
      // The plugin's own credentials: a policy may hide users' entities from them.
      const own = await auth.getOwnServiceCredentials();
      const entity = await catalog.getEntityByRef(userRef, {
        credentials: withTenant(IDENTITIES, own),
      });
      return profileOf(entity).email;
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  /**
   * Finds users and groups that can become members and that the caller may read, ordered by name,
   * and their total number.
   */
  async find(
    caller: CallerCredentials,
    query: FindPrincipals & { limit: number },
  ): Promise<Page<CatalogPrincipal>> {
    if (caller.principal.type !== 'user') {
      // Backstage supports calls on behalf of users only: for a service the call would use the
      // plugin's own rights to read everything.
      throw new IdentityCatalogNotAllowedError(
        'Only users find users and groups here: a service asks the catalog itself',
      );
    }
    // Replaces the tenant of the request.
    const credentials = withTenant(IDENTITIES, caller);
    try {
      return query.principals
        ? await this.#named(query.principals, credentials)
        : await this.#search(query, credentials);
    } catch (error) {
      if (isError(error) && error.statusCode === 403) {
        throw new IdentityCatalogNotAllowedError(
          'You may not read the catalog of the default tenant, which has the users and groups who can be members',
        );
      }
      throw this.#unavailable(error);
    }
  }

  #unavailable(error: unknown): Error {
    const message =
      'The catalog of the default tenant, which has the users and groups, cannot be read at the moment';
    // The error may name hosts, so it is only logged.
    this.options.logger.warn(`${message}: ${error}`);
    return new ServiceUnavailableError(message);
  }

  async #search(
    { search, limit }: { search?: string; limit: number },
    credentials: CallerCredentials,
  ): Promise<Page<CatalogPrincipal>> {
    const { items, totalItems } = await this.options.catalog.queryEntities(
      {
        filter: { kind: [...KINDS] },
        fields: SHOWN,
        fullTextFilter: search ? { term: search, fields: SEARCHED } : undefined,
        limit,
        orderFields: { field: 'metadata.name', order: 'asc' },
      },
      { credentials },
    );
    return { items: items.map(toPrincipal), totalItems };
  }

  async #named(
    principals: string[],
    credentials: CallerCredentials,
  ): Promise<Page<CatalogPrincipal>> {
    // Services have no entities.
    const entityRefs = [...new Set(principals)]
      .filter(ref => KINDS.some(kind => ref.startsWith(`${kind}:`)))
      .sort();
    if (entityRefs.length === 0) {
      return { items: [], totalItems: 0 };
    }
    const { items } = await this.options.catalog.getEntitiesByRefs(
      { entityRefs, fields: SHOWN },
      { credentials },
    );
    const found = items.filter(entity => entity !== undefined);
    return { items: found.map(toPrincipal), totalItems: found.length };
  }
}

function toPrincipal(entity: Entity): CatalogPrincipal {
  const principal = stringifyEntityRef(entity);
  return {
    principal,
    kind: principal.startsWith('group:') ? 'group' : 'user',
    display_name: displayNameOf(entity) ?? null,
  };
}

function displayNameOf(entity: Entity): string | undefined {
  const names = [profileOf(entity).displayName, entity.metadata.title];
  return names.find(name => typeof name === 'string' && name.trim() !== '');
}

/** Its texts alone, because the content of entities is not validated. */
function profileOf(entity: Entity | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Object(entity?.spec?.profile)).filter(
      (field): field is [string, string] => typeof field[1] === 'string',
    ),
  );
}

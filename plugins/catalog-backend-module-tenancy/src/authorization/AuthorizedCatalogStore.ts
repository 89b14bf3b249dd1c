import type {
  BackstageCredentials,
  PermissionsService,
} from '@backstage/backend-plugin-api';
import type { Entity } from '@backstage/catalog-model';
import type { FilterPredicate } from '@backstage/filter-predicates';
import { catalogEntityReadPermission } from '@backstage/plugin-catalog-common/alpha';
import type { EntitiesSearchFilter } from '@backstage/plugin-catalog-node';
import {
  AuthorizeResult,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import {
  createConditionTransformer,
  type PermissionRuleset,
} from '@backstage/plugin-permission-node';
import type {
  CatalogStore,
  QueryEntities,
} from 'backstage-plugin-catalog-tenancy-node';
import { allOf } from '../predicates';
import { toFilterPredicate } from './toFilterPredicate';

/** What the routes read of a catalog. */
export type ReadableCatalogStore = Pick<
  CatalogStore,
  'queryEntities' | 'getEntitiesByRefs'
>;

export interface AuthorizedCatalogStoreOptions {
  store: ReadableCatalogStore;
  permissions: PermissionsService;
  /** Asked for when it is needed: plugins go on adding rules until they have started. */
  getRuleset: () => PermissionRuleset<Entity, EntitiesSearchFilter>;
  credentials: BackstageCredentials;
}

/**
 * The catalog as one caller may see it: what the caller may not read is not there.
 *
 * It is made for one request, and asks the permission backend once.
 */
export class AuthorizedCatalogStore implements ReadableCatalogStore {
  readonly #options: AuthorizedCatalogStoreOptions;
  #decision: Promise<PolicyDecision> | undefined;

  constructor(options: AuthorizedCatalogStoreOptions) {
    this.#options = options;
  }

  async queryEntities(
    tenantId: string,
    query: QueryEntities = {},
  ): Promise<Entity[]> {
    const visible = await this.#restrict(query);
    return visible ? this.#options.store.queryEntities(tenantId, visible) : [];
  }

  async getEntitiesByRefs(
    tenantId: string,
    entityRefs: string[],
    options: { filter?: FilterPredicate } = {},
  ): Promise<Array<Entity | null>> {
    const visible = await this.#restrict(options);
    return visible
      ? this.#options.store.getEntitiesByRefs(tenantId, entityRefs, visible)
      : entityRefs.map(() => null);
  }

  /** The request, for what the caller may read; nothing if that is nothing. */
  async #restrict<TRequest extends { filter?: FilterPredicate }>(
    request: TRequest,
  ): Promise<TRequest | undefined> {
    const decision = await this.#decide();
    switch (decision.result) {
      case AuthorizeResult.ALLOW:
        return request;
      case AuthorizeResult.CONDITIONAL: {
        const allowed = toFilterPredicate(
          createConditionTransformer(this.#options.getRuleset())(
            decision.conditions,
          ),
        );
        return { ...request, filter: allOf(allowed, request.filter) };
      }
      default:
        return undefined;
    }
  }

  #decide(): Promise<PolicyDecision> {
    const { permissions, credentials } = this.#options;
    this.#decision ??= permissions
      .authorizeConditional([{ permission: catalogEntityReadPermission }], {
        credentials,
      })
      .then(([decision]) => decision);
    return this.#decision;
  }
}

import type {
  BackstageCredentials,
  PermissionsService,
} from '@backstage/backend-plugin-api';
import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import { NotAllowedError } from '@backstage/errors';
import type { FilterPredicate } from '@backstage/filter-predicates';
import { catalogEntityReadPermission } from '@backstage/plugin-catalog-common/alpha';
import type { EntitiesSearchFilter } from '@backstage/plugin-catalog-node';
import {
  AuthorizeResult,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import {
  createConditionAuthorizer,
  createConditionTransformer,
  type PermissionRuleset,
} from '@backstage/plugin-permission-node';
import type {
  CatalogStore,
  EntityAncestry,
  EntityPage,
  EntityPageQuery,
  FacetCount,
  FacetsQuery,
  QueryEntities,
  ReadOptions,
} from 'backstage-plugin-catalog-tenancy-node';
import { allOf, toFilterPredicate } from '../predicates';

type StoreReads = Pick<
  CatalogStore,
  | 'readEntities'
  | 'readEntitiesByRefs'
  | 'readPage'
  | 'countFacets'
  | 'getAncestry'
>;

/** What the routes read of a catalog. */
export interface ReadableCatalogStore extends Omit<StoreReads, 'readPage'> {
  /** Nothing where no entity may be read: a page without any may have others around it. */
  readPage(
    tenantId: string,
    query: EntityPageQuery,
  ): Promise<EntityPage | undefined>;
}

export interface AuthorizedCatalogStoreOptions {
  store: StoreReads;
  permissions: Pick<PermissionsService, 'authorizeConditional'>;
  /** Asked for when it is needed: plugins go on adding rules until they have started. */
  getRuleset: () => PermissionRuleset<Entity, EntitiesSearchFilter>;
  credentials: BackstageCredentials;
  /** Aborted when the caller has gone. */
  signal?: AbortSignal;
}

/**
 * The catalog as one caller may see it: what the caller may not read is not there.
 *
 * It is made for one request, and asks the permission backend once.
 */
export class AuthorizedCatalogStore implements ReadableCatalogStore {
  readonly #options: AuthorizedCatalogStoreOptions;
  #decision: Promise<PolicyDecision> | undefined;
  #hasRead = false;

  constructor(options: AuthorizedCatalogStoreOptions) {
    this.#options = options;
  }

  async readEntities(
    tenantId: string,
    query: QueryEntities = {},
  ): Promise<string[]> {
    const visible = await this.#restrict(query);
    return visible
      ? this.#read(options =>
          this.#options.store.readEntities(tenantId, visible, options),
        )
      : [];
  }

  async readEntitiesByRefs(
    tenantId: string,
    entityRefs: string[],
    options: { filter?: FilterPredicate } = {},
  ): Promise<Array<string | null>> {
    const visible = await this.#restrict(options);
    return visible
      ? this.#read(how =>
          this.#options.store.readEntitiesByRefs(tenantId, entityRefs, {
            ...visible,
            ...how,
          }),
        )
      : entityRefs.map(() => null);
  }

  async readPage(
    tenantId: string,
    query: EntityPageQuery,
  ): Promise<EntityPage | undefined> {
    const visible = await this.#restrict(query);
    return (
      visible &&
      this.#read(options =>
        this.#options.store.readPage(tenantId, visible, options),
      )
    );
  }

  async countFacets(
    tenantId: string,
    query: FacetsQuery,
  ): Promise<Record<string, FacetCount[]>> {
    const visible = await this.#restrict(query);
    return visible
      ? this.#read(options =>
          this.#options.store.countFacets(tenantId, visible, options),
        )
      : Object.fromEntries(query.facets.map(facet => [facet, []]));
  }

  /**
   * Leaves out what the caller may not read, and all from which that comes.
   *
   * The stock catalog asks the permission backend about each of the entities by its
   * ref, which asks the catalog back, without a tenant. Here the rules of the
   * conditions are applied to the same entities of this tenant at once.
   *
   * @throws NotAllowedError if the caller may not read the entity itself, and where
   * that is decided by conditions, if it is not there
   */
  async getAncestry(
    tenantId: string,
    entityRef: string,
  ): Promise<EntityAncestry | undefined> {
    const decision = await this.#decide();
    if (decision.result === AuthorizeResult.DENY) {
      throw new NotAllowedError();
    }
    const ancestry = await this.#read(options =>
      this.#options.store.getAncestry(tenantId, entityRef, options),
    );
    if (decision.result === AuthorizeResult.ALLOW) {
      return ancestry;
    }
    const isReadable = createConditionAuthorizer(this.#options.getRuleset());
    if (!ancestry || !isReadable(decision, ancestry.items[0].entity)) {
      throw new NotAllowedError();
    }
    return pruneAncestry(ancestry, entity => isReadable(decision, entity));
  }

  /** A further read of the same request may be for a response that has begun. */
  async #read<T>(read: (options: ReadOptions) => Promise<T>): Promise<T> {
    const { signal } = this.#options;
    const result = await read({
      ...(signal && { signal }),
      ...(this.#hasRead && { continues: true }),
    });
    this.#hasRead = true;
    return result;
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

/**
 * Takes from an ancestry what may not be read, and whatever that comes from, even if
 * something that may be read comes from it too. What is left still names its parents.
 */
function pruneAncestry(
  ancestry: EntityAncestry,
  isReadable: (entity: Entity) => boolean,
): EntityAncestry {
  const { rootEntityRef, items } = ancestry;
  const parentsOf = new Map(
    items.map(item => [stringifyEntityRef(item.entity), item.parentEntityRefs]),
  );
  const pruned = new Set(
    items
      .filter(item => !isReadable(item.entity))
      .map(item => stringifyEntityRef(item.entity)),
  );
  // What is added on the way is visited too.
  for (const ref of pruned) {
    for (const parent of parentsOf.get(ref) ?? []) {
      pruned.add(parent);
    }
  }
  return {
    rootEntityRef,
    items: items.filter(item => !pruned.has(stringifyEntityRef(item.entity))),
  };
}

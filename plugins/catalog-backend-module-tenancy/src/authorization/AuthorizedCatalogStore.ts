import { createHash } from 'node:crypto';
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
import {
  type CatalogStore,
  Coalescer,
  type EntityAncestry,
  type EntityPage,
  type EntityPageQuery,
  type FacetCount,
  type FacetsQuery,
  type QueryEntities,
  type ReadOptions,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import { allOf, toFilterPredicate } from '../predicates';
import { bearerToken } from '../resolution/bearerToken';

type StoreReads = Pick<
  CatalogStore,
  | 'readEntities'
  | 'readEntitiesByRefs'
  | 'readPage'
  | 'countFacets'
  | 'getAncestry'
>;

/** The reads of the catalog's routes. */
export interface ReadableCatalogStore extends Omit<StoreReads, 'readPage'> {
  /**
   * Undefined if the caller may read no entity at all, unlike an empty page, which may have
   * neighbours.
   */
  readPage(
    tenantId: string,
    query: EntityPageQuery,
  ): Promise<EntityPage | undefined>;
}

export interface AuthorizedCatalogStoreOptions {
  store: StoreReads;
  permissions: Pick<PermissionsService, 'authorizeConditional'>;
  /** Called late, because plugins add rules until they have started. */
  getRuleset: () => PermissionRuleset<Entity, EntitiesSearchFilter>;
  credentials: BackstageCredentials;
  /** Aborted when the client disconnects. */
  signal?: AbortSignal;
}

/**
 * The catalog as one caller may see it; other entities look absent.
 *
 * One instance serves one request and calls the permission backend once.
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
   * Leaves out entities that the caller may not read, with all of their ancestors.
   *
   * The stock catalog asks the permission backend about each entity by ref, which calls the
   * catalog back without a tenant. Here the rules of the conditions are applied directly to the
   * tenant's entities.
   *
   * @throws NotAllowedError if the caller may not read the entity itself; under a conditional
   * decision, also if it does not exist
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

  /** After the first read of a request, its response may have begun. */
  async #read<T>(read: (options: ReadOptions) => Promise<T>): Promise<T> {
    const { signal } = this.#options;
    const result = await read({
      ...(signal && { signal }),
      ...(this.#hasRead && { continues: true }),
    });
    this.#hasRead = true;
    return result;
  }

  /** Restricts a query to entities that the caller may read; undefined if there are none. */
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
 * Removes unreadable entities and all of their ancestors, even those that are ancestors of
 * readable entities too. Remaining entities still name their parents.
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
  // Iteration includes elements that are added meanwhile.
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

type AuthorizeConditional = PermissionsService['authorizeConditional'];
type Decisions = ReturnType<AuthorizeConditional>;

/** The most cached decisions; the oldest are evicted. */
const MOST_KEPT = 10_000;

/**
 * Shares permission decisions among the concurrent requests of a user, such as those of one
 * page. A decision takes two HTTP calls and several signatures, which cost more than most
 * reads.
 *
 * Without `maxAgeMs` it is a {@link Coalescer}, not a cache: the permission backend always
 * decides after the request arrived.
 *
 * With `maxAgeMs`, an ALLOW or a conditional decision is reused for that time for requests with
 * the same token. Denials and errors are not reused.
 */
export class SharedDecisions {
  readonly #asked = new Coalescer();
  readonly #kept: LRUCache<string, Decisions> | undefined;
  readonly #permissions: Pick<PermissionsService, 'authorizeConditional'>;

  constructor(
    permissions: Pick<PermissionsService, 'authorizeConditional'>,
    options: { maxAgeMs?: number; clock?: Pick<Performance, 'now'> } = {},
  ) {
    const { maxAgeMs, clock = performance } = options;
    this.#permissions = permissions;
    // For LRUCache, a ttl of 0 means no expiry.
    this.#kept = maxAgeMs
      ? new LRUCache({
          max: MOST_KEPT,
          ttl: maxAgeMs,
          ttlResolution: 0,
          perf: clock,
        })
      : undefined;
  }

  /** The number of different running queries. */
  get size(): number {
    return this.#asked.size;
  }

  /** A permissions service for a request of a tenant. */
  of(
    req: Pick<Request, 'headers'>,
    tenantId: string,
  ): Pick<PermissionsService, 'authorizeConditional'> {
    return {
      authorizeConditional: (queries, options) => {
        const ask = () =>
          this.#permissions.authorizeConditional(queries, options);
        const principal: unknown =
          options && 'credentials' in options
            ? options.credentials.principal
            : undefined;
        const token = bearerToken(req.headers.authorization);
        // Decisions for services take no call.
        return token !== undefined && isUser(principal)
          ? this.#share(
              tenantId,
              // Includes the principal, because credentials may come from elsewhere than this
              // header.
              digest([tenantId, token, principal, queries]),
              ask,
            )
          : ask();
      },
    };
  }

  #share(tenantId: string, key: string, ask: () => Decisions): Decisions {
    return (
      this.#kept?.get(key) ??
      this.#asked.ask(tenantId, key, () => {
        const answer = ask();
        if (this.#kept) {
          this.#keep(this.#kept, key, answer);
        }
        return answer;
      })
    );
  }

  /** The age counts from the call, because the permission backend may decide at its beginning. */
  #keep(
    kept: LRUCache<string, Decisions>,
    key: string,
    answer: Decisions,
  ): void {
    kept.set(key, answer);
    const forget = () => {
      if (kept.peek(key) === answer) {
        kept.delete(key);
      }
    };
    answer.then(
      decisions =>
        decisions.some(({ result }) => result === AuthorizeResult.DENY) &&
        forget(),
      forget,
    );
  }
}

/** A hash as the key, so that no token stays in memory. */
function digest(question: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(question)).digest('base64');
}

function isUser(principal: unknown): boolean {
  return (principal as { type?: unknown } | undefined)?.type === 'user';
}

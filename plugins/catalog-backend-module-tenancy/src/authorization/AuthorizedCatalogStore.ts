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

type AuthorizeConditional = PermissionsService['authorizeConditional'];
type Decisions = ReturnType<AuthorizeConditional>;

const BEARER = /^Bearer[ ]+(\S+)$/i;

/** Of different callers and tenants; the oldest make room. */
const MOST_KEPT = 10_000;

/**
 * What users may read, asked for once for all requests that a user sends at the same time,
 * as a page does. To ask is two calls over HTTP and several signatures, which cost more
 * than most reads.
 *
 * Without `maxAgeMs`, it is a queue of one, not a cache: a request that comes while the same
 * question is under way waits for its end, and shares the next answer with all others that
 * wait. So the permission backend always decides after the request came.
 *
 * With it, what was allowed holds for further requests with the same token until so long
 * after it was asked. A refusal and an error hold for nobody who comes after them.
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
    // For the cache, no time means for ever.
    this.#kept = maxAgeMs
      ? new LRUCache({
          max: MOST_KEPT,
          ttl: maxAgeMs,
          ttlResolution: 0,
          perf: clock,
        })
      : undefined;
  }

  /** How many different questions are under way. */
  get size(): number {
    return this.#asked.size;
  }

  /** The permissions of who sends a request of a tenant. */
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
        const token = BEARER.exec(req.headers.authorization ?? '')?.[1];
        // Services get their answer without a call.
        return token !== undefined && isUser(principal)
          ? this.#share(
              tenantId,
              // With who it is: credentials may come from elsewhere than this header.
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

  /** From the moment of the question: the permission backend may decide right then. */
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

/** Of whom and what is asked: what stays in memory shows no token. */
function digest(question: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(question)).digest('base64');
}

function isUser(principal: unknown): boolean {
  return (principal as { type?: unknown } | undefined)?.type === 'user';
}

import type { Entity } from '@backstage/catalog-model';
import type { FilterPredicate } from '@backstage/filter-predicates';

/**
 * An entity as `listEntities` returns it (specification, "Catalog operations").
 *
 * @public
 */
export interface ListedEntity {
  /** `<kind>:<namespace>/<name>`, in lower case as engines write it. */
  entity_ref: string;
  /** The last part of the ref. */
  entity_name: string;
  /** When it was first stored. */
  created_at: Date;
}

/**
 * One field that a list of entities is ordered by.
 *
 * @public
 */
export interface EntityOrder {
  /** A flattened key, such as `metadata.name`, in any case. */
  field: string;
  /** Ascending or descending. */
  order: 'asc' | 'desc';
}

/**
 * Selects entities of a tenant, and orders them.
 *
 * @public
 */
export interface QueryEntities {
  /** Means what it means to the stock catalog. */
  filter?: FilterPredicate;
  /** By entity ref if omitted. Entities that lack a field come last. */
  order?: EntityOrder[];
  /**
   * Only entities whose ref comes after this one; not allowed with `order`. A long list can so
   * be read in parts without losing or repeating an entity under concurrent writes. Must be
   * spelt as the entity spells its ref.
   */
  afterRef?: string;
  /** The most entities to return, 0 or more; all if omitted. */
  limit?: number;
  /** How many entities to skip; none by default. */
  offset?: number;
}

/**
 * One page of a long list that can be read forwards and backwards.
 *
 * @public
 */
export interface EntityPageQuery {
  /** Means what it means to the stock catalog. */
  filter?: FilterPredicate;
  /**
   * By entity id if omitted. Otherwise, an entity is listed once for each value that it has at
   * the field; entities without a value are left out.
   */
  order?: EntityOrder;
  /**
   * Only entities with a value that contains the term, ignoring case. `%` and `_` are
   * wildcards, as in the stock catalog. A blank term is ignored.
   */
  fullText?: {
    term: string;
    /** Flattened keys in any case; by default the field of the order, or else the id. */
    fields?: string[];
  };
  /** The most rows to return, 0 or more. */
  limit: number;
  /** How many rows to skip; none by default. */
  offset?: number;
  /**
   * Only rows after this place in the direction of reading: the order value and id of the last
   * row of another page. Without `value`, the id alone counts; no row comes after `null`.
   */
  after?: { value?: string | null; entityId: string };
  /** Reads in reverse order. */
  backwards?: boolean;
  /** Whether to count all entities that match, wherever the page begins. */
  total?: boolean;
}

/**
 * A row of a page.
 *
 * @public
 */
export interface EntityPageRow {
  /** The entity as JSON text. */
  json: string;
  /** Its id, a UUID. */
  entityId: string;
  /** The value of the order field, in lower case; absent without an order. */
  value?: string;
}

/**
 * What a page holds.
 *
 * @public
 */
export interface EntityPage {
  /** In the direction of reading. */
  rows: EntityPageRow[];
  /** How many entities match, if `total` was set. */
  totalItems?: number;
}

/**
 * Counts the values that entities have at some keys.
 *
 * @public
 */
export interface FacetsQuery {
  /** Flattened keys, in any case. */
  facets: string[];
  /** Counts matching entities only; all if omitted. */
  filter?: FilterPredicate;
}

/**
 * How many entities have a value.
 *
 * @public
 */
export interface FacetCount {
  /** The value as the entities spell it. */
  value: string;
  /** How many entities have it. */
  count: number;
}

/**
 * An entity and its ancestors: the entities that emitted it, directly or indirectly.
 *
 * @public
 */
export interface EntityAncestry {
  /** The ref of the requested entity, in lower case. */
  rootEntityRef: string;
  /** The entity first, then each ancestor once. */
  items: Array<{ entity: Entity; parentEntityRefs: string[] }>;
}

/**
 * How a read is executed; does not change its result.
 *
 * @public
 */
export interface ReadOptions {
  /**
   * Aborted when the client disconnects. The read then rejects with the reason of the signal,
   * and is cancelled in the database unless other callers share it.
   */
  signal?: AbortSignal;

  /**
   * The read continues a response that has begun, such as a list that is read in parts: it
   * waits in the tenant's queue instead of failing with {@link TenantBusyError}.
   */
  continues?: boolean;
}

/**
 * The entities of tenants. Each operation sees the live entities of one tenant only. It checks
 * no permissions.
 *
 * All throw `InputError` for a tenant id that is not a UUID, {@link DatabaseUnavailableError} if
 * there is no connection in time, {@link TenantBusyError} if the tenant has too much under way,
 * and {@link DatabaseTimeoutError} if a statement exceeds its time limit.
 *
 * @public
 */
export interface CatalogStore {
  /**
   * The entity with this ref, in any case; undefined if there is none.
   *
   * @throws `InputError` unless it is an entity ref with a kind
   */
  getEntity(tenantId: string, entityRef: string): Promise<Entity | undefined>;

  /**
   * The entities of a kind, newest first.
   *
   * @param kind - as the entities spell it; of kinds in lower case, as engines write them, in any
   * case
   * @param limit - 1 or more; 100 by default
   * @throws `InputError` for another limit
   */
  listEntities(
    tenantId: string,
    kind: string,
    limit?: number,
  ): Promise<ListedEntity[]>;

  /**
   * The entities that match a query, as they were stored.
   *
   * Entities are ordered by their values in lower case, then by id. If an entity has several
   * values at a field, the first in the order counts.
   *
   * @throws `InputError` for a filter that has no meaning or is too large, for a
   * negative `limit` or `offset`, and for `afterRef` together with an order
   */
  queryEntities(tenantId: string, query?: QueryEntities): Promise<Entity[]>;

  /**
   * The entities with these refs, in the same order; `null` for a ref that is malformed,
   * unknown or excluded by the filter. Refs may be in any case.
   *
   * @throws `InputError` for a filter that has no meaning or is too large
   */
  getEntitiesByRefs(
    tenantId: string,
    entityRefs: string[],
    options?: { filter?: FilterPredicate } & ReadOptions,
  ): Promise<Array<Entity | null>>;

  /**
   * As {@link CatalogStore.queryEntities}, but returns each entity as JSON text.
   *
   * @throws like {@link CatalogStore.queryEntities}
   */
  readEntities(
    tenantId: string,
    query?: QueryEntities,
    options?: ReadOptions,
  ): Promise<string[]>;

  /**
   * As {@link CatalogStore.getEntitiesByRefs}, but returns each entity as JSON text.
   *
   * @throws like {@link CatalogStore.getEntitiesByRefs}
   */
  readEntitiesByRefs(
    tenantId: string,
    entityRefs: string[],
    options?: { filter?: FilterPredicate } & ReadOptions,
  ): Promise<Array<string | null>>;

  /**
   * A page of the matching entities, and optionally their total number.
   *
   * @throws `InputError` for a filter that has no meaning or is too large, for a
   * negative `limit` or `offset`, and for an `after` with a NUL character
   */
  readPage(
    tenantId: string,
    query: EntityPageQuery,
    options?: ReadOptions,
  ): Promise<EntityPage>;

  /**
   * The values that entities have at each key, ordered by value. The result has the keys as
   * given; a key without values has an empty list.
   *
   * @throws `InputError` for a filter that has no meaning or is too large
   */
  countFacets(
    tenantId: string,
    query: FacetsQuery,
    options?: ReadOptions,
  ): Promise<Record<string, FacetCount[]>>;

  /**
   * The entity with this ref, in any case, with its ancestors as the ingesting engine reported
   * them; undefined if there is no such entity.
   *
   * @throws `InputError` unless it is an entity ref with a kind
   */
  getAncestry(
    tenantId: string,
    entityRef: string,
    options?: ReadOptions,
  ): Promise<EntityAncestry | undefined>;
}

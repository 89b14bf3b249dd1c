import type { Entity } from '@backstage/catalog-model';
import type { FilterPredicate } from '@backstage/filter-predicates';

/**
 * What `listEntities` tells of an entity (specification, "Catalog operations").
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
  /** Smallest first, or largest first. */
  order: 'asc' | 'desc';
}

/**
 * Which entities of a tenant are asked for, and in which order.
 *
 * @public
 */
export interface QueryEntities {
  /** Means what it means to the stock catalog. */
  filter?: FilterPredicate;
  /** By entity ref without one. Entities that lack a field come last. */
  order?: EntityOrder[];
  /**
   * Only entities whose ref comes after this one, where there is no `order`: so a
   * long list is read in parts without losing or repeating an entity that others
   * write around meanwhile. It is the ref of an entity as that spells itself.
   */
  afterRef?: string;
  /** The most entities to return, 0 or more; all without one. */
  limit?: number;
  /** How many entities of the list to pass over first; none by default. */
  offset?: number;
}

/**
 * One page of a long list, which is read in both directions.
 *
 * @public
 */
export interface EntityPageQuery {
  /** Means what it means to the stock catalog. */
  filter?: FilterPredicate;
  /**
   * By the id of the entities without one. With one, only entities are listed that
   * have a value at the field, each once for each of its values.
   */
  order?: EntityOrder;
  /**
   * Only entities with a value that holds the term, in any case. `%` and `_` in it
   * stand for any text and any character, as in the stock catalog. A term of white
   * space asks for nothing.
   */
  fullText?: {
    term: string;
    /** Flattened keys in any case; the field of the order, or the id, without them. */
    fields?: string[];
  };
  /** The most rows to return, 0 or more. */
  limit: number;
  /** How many rows to pass over first; none by default. */
  offset?: number;
  /**
   * Only what comes after this place in the direction of reading: the value of the
   * order and the id at which another page ended. Without a value, by the id alone;
   * nothing comes after the value `null`.
   */
  after?: { value?: string | null; entityId: string };
  /** Against the order, so that the last comes first. */
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
  /** What it is ordered by, in lower case; nothing without an order. */
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
  /** How many entities match, if that was asked for. */
  totalItems?: number;
}

/**
 * Which values entities have at some keys is asked for.
 *
 * @public
 */
export interface FacetsQuery {
  /** Flattened keys, in any case. */
  facets: string[];
  /** Counts the entities that match; all without one. */
  filter?: FilterPredicate;
}

/**
 * How many entities have a value.
 *
 * @public
 */
export interface FacetCount {
  /** As it is written in the entities. */
  value: string;
  /** How many entities have it. */
  count: number;
}

/**
 * An entity, and from which entities it comes.
 *
 * @public
 */
export interface EntityAncestry {
  /** The ref of the entity that was asked for, in lower case. */
  rootEntityRef: string;
  /** That entity first, then all from which it comes, near or far, each once. */
  items: Array<{ entity: Entity; parentEntityRefs: string[] }>;
}

/**
 * How a read is carried out, which has no effect on what it finds.
 *
 * @public
 */
export interface ReadOptions {
  /**
   * Aborted when the caller has gone. The read rejects then, with the reason of the signal,
   * and is cancelled in the database unless others share it.
   */
  signal?: AbortSignal;

  /**
   * The read continues an answer that has begun, such as a list that is read in parts: it
   * waits for its turn, rather than fail with {@link TenantBusyError}.
   */
  continues?: boolean;
}

/**
 * The entities of tenants. Each operation sees the live entities of one tenant
 * only. It asks no permissions.
 *
 * All throw `InputError` for a tenant id that is no UUID,
 * {@link DatabaseUnavailableError} if there is no connection in time,
 * {@link TenantBusyError} if the tenant has too much under way, and
 * {@link DatabaseTimeoutError} for what takes PostgreSQL too long.
 *
 * @public
 */
export interface CatalogStore {
  /**
   * The entity with this ref, in any case; nothing if there is none.
   *
   * @throws `InputError` unless it is an entity ref with a kind
   */
  getEntity(tenantId: string, entityRef: string): Promise<Entity | undefined>;

  /**
   * The entities of a kind, newest first.
   *
   * @param kind - in any case
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
   * An order goes by values in lower case, and by the id where they are equal. Of
   * several values that an entity has at a field, the first in the order counts.
   *
   * @throws `InputError` for a filter that has no meaning or is too large, for a
   * negative `limit` or `offset`, and for `afterRef` together with an order
   */
  queryEntities(tenantId: string, query?: QueryEntities): Promise<Entity[]>;

  /**
   * The entities with these refs, in their order, and `null` for each that is not
   * there, is no ref or does not match the filter. Refs may be in any case.
   *
   * @throws `InputError` for a filter that has no meaning or is too large
   */
  getEntitiesByRefs(
    tenantId: string,
    entityRefs: string[],
    options?: { filter?: FilterPredicate } & ReadOptions,
  ): Promise<Array<Entity | null>>;

  /**
   * As {@link CatalogStore.queryEntities}, and returns the JSON text of each entity.
   *
   * @throws like {@link CatalogStore.queryEntities}
   */
  readEntities(
    tenantId: string,
    query?: QueryEntities,
    options?: ReadOptions,
  ): Promise<string[]>;

  /**
   * As {@link CatalogStore.getEntitiesByRefs}, and returns the JSON text of each
   * entity.
   *
   * @throws like {@link CatalogStore.getEntitiesByRefs}
   */
  readEntitiesByRefs(
    tenantId: string,
    entityRefs: string[],
    options?: { filter?: FilterPredicate } & ReadOptions,
  ): Promise<Array<string | null>>;

  /**
   * A page of the entities that match, and how many match in all.
   *
   * @throws `InputError` for a filter that has no meaning or is too large, for a
   * negative `limit` or `offset`, and for an `after` whose id is no UUID
   */
  readPage(
    tenantId: string,
    query: EntityPageQuery,
    options?: ReadOptions,
  ): Promise<EntityPage>;

  /**
   * The values that the entities have at some keys, by key as it was given, in the
   * order of the values. A key that no entity has gets an empty list.
   *
   * @throws `InputError` for a filter that has no meaning or is too large
   */
  countFacets(
    tenantId: string,
    query: FacetsQuery,
    options?: ReadOptions,
  ): Promise<Record<string, FacetCount[]>>;

  /**
   * The entity with this ref, in any case, and from which entities it comes: of whom
   * an engine that ingests has said so. Nothing if it is not there.
   *
   * @throws `InputError` unless it is an entity ref with a kind
   */
  getAncestry(
    tenantId: string,
    entityRef: string,
    options?: ReadOptions,
  ): Promise<EntityAncestry | undefined>;
}

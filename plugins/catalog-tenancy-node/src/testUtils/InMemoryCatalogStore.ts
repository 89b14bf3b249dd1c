import { createHash, randomUUID } from 'node:crypto';
import {
  type Entity,
  parseEntityRef,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import { ConflictError, InputError } from '@backstage/errors';
import type { FilterPredicate } from '@backstage/filter-predicates';
import type {
  CatalogMutation,
  CatalogStore,
  EntityAncestry,
  EntityPage,
  EntityPageQuery,
  FacetCount,
  FacetsQuery,
  ListedEntity,
  MutationResult,
  QueryEntities,
} from 'backstage-plugin-catalog-tenancy-node';
import { matchesFilter } from './matchesFilter';
import { countFacets, readPage } from './readPage';
import { compareLacking, firstOf } from './order';
import { searchTermsOf } from './searchTerms';

interface StoredEntity {
  entity: Entity;
  source: string | undefined;
  /** Orders creations, which may share a millisecond. */
  position: number;
  createdAt: Date;
  deleted: boolean;
}

type Entities = Map<string, StoredEntity>;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * A catalog store without a database, for the tests of plugins that use one. Every
 * UUID is an active tenant to it, which may have any number of entities.
 */
export class InMemoryCatalogStore implements CatalogStore {
  readonly #tenants = new Map<string, Entities>();
  #position = 0;

  async getEntity(
    tenantId: string,
    entityRef: string,
  ): Promise<Entity | undefined> {
    const stored = this.#entitiesOf(tenantId).get(canonicalRef(entityRef));
    return stored && !stored.deleted
      ? structuredClone(stored.entity)
      : undefined;
  }

  async listEntities(
    tenantId: string,
    kind: string,
    limit: number = 100,
  ): Promise<ListedEntity[]> {
    if (!Number.isInteger(limit) || limit < 1) {
      throw new InputError(
        `Invalid limit '${limit}', expected a whole number of 1 or more`,
      );
    }
    return this.#liveOf(tenantId)
      .filter(
        ([, { entity }]) => entity.kind.toLowerCase() === kind.toLowerCase(),
      )
      .sort(([, a], [, b]) => b.position - a.position)
      .slice(0, limit)
      .map(([ref, { createdAt }]) => ({
        entity_ref: ref,
        entity_name: parseEntityRef(ref).name,
        created_at: new Date(createdAt),
      }));
  }

  async queryEntities(
    tenantId: string,
    query: QueryEntities = {},
  ): Promise<Entity[]> {
    const { filter, order = [], afterRef, limit, offset = 0 } = query;
    return this.#liveOf(tenantId)
      .filter(([ref]) => afterRef === undefined || ref > afterRef)
      .map(([ref, { entity }]) => ({
        ref,
        entity,
        terms: searchTermsOf(entity),
      }))
      .filter(({ terms }) => !filter || matchesFilter(terms, filter))
      .sort((a, b) => {
        for (const { field, order: direction } of order) {
          const [x, y] = [a, b].map(({ terms }) =>
            firstOf(terms, field, direction),
          );
          const difference = compareLacking(x, y, direction === 'asc' ? 1 : -1);
          if (difference !== 0) {
            return difference;
          }
        }
        return a.ref < b.ref ? -1 : 1;
      })
      .slice(offset, limit === undefined ? undefined : offset + limit)
      .map(({ entity }) => structuredClone(entity));
  }

  async getEntitiesByRefs(
    tenantId: string,
    entityRefs: string[],
    options: { filter?: FilterPredicate } = {},
  ): Promise<Array<Entity | null>> {
    const { filter } = options;
    return Promise.all(
      entityRefs.map(async ref => {
        const entity = await this.getEntity(tenantId, ref);
        return entity &&
          (!filter || matchesFilter(searchTermsOf(entity), filter))
          ? entity
          : null;
      }),
    );
  }

  async readEntities(
    tenantId: string,
    query: QueryEntities = {},
  ): Promise<string[]> {
    const entities = await this.queryEntities(tenantId, query);
    return entities.map(entity => JSON.stringify(entity));
  }

  async readEntitiesByRefs(
    tenantId: string,
    entityRefs: string[],
    options: { filter?: FilterPredicate } = {},
  ): Promise<Array<string | null>> {
    const entities = await this.getEntitiesByRefs(
      tenantId,
      entityRefs,
      options,
    );
    return entities.map(entity => entity && JSON.stringify(entity));
  }

  async readPage(
    tenantId: string,
    query: EntityPageQuery,
  ): Promise<EntityPage> {
    return readPage(this.#liveEntitiesOf(tenantId), query);
  }

  async countFacets(
    tenantId: string,
    query: FacetsQuery,
  ): Promise<Record<string, FacetCount[]>> {
    return countFacets(this.#liveEntitiesOf(tenantId), query);
  }

  /** No entity comes from another one here: what mutations bring has no engine. */
  async getAncestry(
    tenantId: string,
    entityRef: string,
  ): Promise<EntityAncestry | undefined> {
    const entity = await this.getEntity(tenantId, entityRef);
    return (
      entity && {
        rootEntityRef: canonicalRef(entityRef),
        items: [{ entity, parentEntityRefs: [] }],
      }
    );
  }

  async applyMutation(
    tenantId: string,
    mutation: CatalogMutation,
  ): Promise<MutationResult> {
    const { source } = mutation;
    // Nothing is kept of what fails half-way.
    const entities: Entities = new Map(this.#entitiesOf(tenantId));
    const result: MutationResult = {
      inserted: 0,
      updated: 0,
      revived: 0,
      unchanged: 0,
      deleted: 0,
    };
    const given = mutation.type === 'full' ? mutation.entities : mutation.added;
    const refs = new Set<string>();
    for (const entity of given) {
      const ref = stringifyEntityRef(entity);
      if (refs.has(ref)) {
        throw new InputError(
          `The entity '${ref}' is there twice, expected each once`,
        );
      }
      refs.add(ref);
      result[this.#put(entities, ref, entity, source)] += 1;
    }
    for (const [ref, stored] of entities) {
      const isRemoved =
        mutation.type === 'full'
          ? stored.source === source && !refs.has(ref)
          : mutation.removed.some(
              removed => canonicalRef(removed.entityRef) === ref,
            );
      if (isRemoved && !stored.deleted) {
        assertSource(ref, stored, source);
        entities.set(ref, { ...stored, deleted: true });
        result.deleted += 1;
      }
    }
    this.#tenants.set(tenantId, entities);
    return result;
  }

  #put(
    entities: Entities,
    ref: string,
    given: Entity,
    source: string | undefined,
  ): Exclude<keyof MutationResult, 'deleted'> {
    const present = entities.get(ref);
    const etag = hashOf(given);
    if (present && !present.deleted) {
      assertSource(ref, present, source);
      if (present.entity.metadata.etag === etag) {
        return 'unchanged';
      }
    }
    const entity = structuredClone(given);
    entity.metadata.uid = present?.entity.metadata.uid ?? randomUUID();
    entity.metadata.etag = etag;
    this.#position += 1;
    entities.set(ref, {
      entity,
      source,
      position: present?.position ?? this.#position,
      createdAt: present?.createdAt ?? new Date(),
      deleted: false,
    });
    if (!present) {
      return 'inserted';
    }
    return present.deleted ? 'revived' : 'updated';
  }

  #liveEntitiesOf(tenantId: string): Entity[] {
    return this.#liveOf(tenantId).map(([, { entity }]) => entity);
  }

  #liveOf(tenantId: string): Array<[string, StoredEntity]> {
    return [...this.#entitiesOf(tenantId)].filter(
      ([, { deleted }]) => !deleted,
    );
  }

  #entitiesOf(tenantId: string): Entities {
    if (!UUID.test(tenantId)) {
      throw new InputError(`Invalid tenant id '${tenantId}', expected a UUID`);
    }
    return this.#tenants.get(tenantId) ?? new Map();
  }
}

function canonicalRef(entityRef: string): string {
  try {
    return stringifyEntityRef(parseEntityRef(entityRef));
  } catch {
    throw new InputError(
      `Invalid entity ref '${entityRef}', expected <kind>:<namespace>/<name>`,
    );
  }
}

function assertSource(
  ref: string,
  stored: StoredEntity,
  source: string | undefined,
): void {
  if (stored.source !== source) {
    throw new ConflictError(`The entity '${ref}' belongs to another source`);
  }
}

function hashOf(entity: Entity): string {
  const { uid, etag, ...metadata } = entity.metadata;
  return createHash('sha1')
    .update(JSON.stringify({ ...entity, metadata }))
    .digest('hex');
}

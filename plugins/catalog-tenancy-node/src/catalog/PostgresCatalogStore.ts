import type { Entity } from '@backstage/catalog-model';
import { InputError, NotImplementedError } from '@backstage/errors';
import type { FilterPredicate } from '@backstage/filter-predicates';
import type { Knex } from 'knex';
import type { TenancyPool, TenantDatabase, TenantScope } from '../database';
import type { CatalogMutation, MutationResult } from './CatalogMutation';
import type {
  CatalogStore,
  EntityAncestry,
  EntityPage,
  FacetCount,
  ListedEntity,
  QueryEntities,
} from './CatalogStore';
import { storedRefs } from './entityRefs';
import { CatalogWriter } from './mutation';
import { isStorable, UNICODE_COLLATION, ValueText } from './predicates';
import {
  selectEntities,
  selectEntitiesByRefs,
  selectEntity,
  selectNewest,
} from './reads';

const MAX_LIMIT = 2 ** 31 - 1;

/**
 * The catalog store on PostgreSQL.
 *
 * Filters and orders go by `final_entity` alone, so that rows which others have
 * written count too, whatever they hold; except `kind`, `metadata.name`,
 * `metadata.namespace` and `metadata.uid`, which go by the columns.
 */
export class PostgresCatalogStore implements CatalogStore {
  readonly #database: TenantDatabase;
  readonly #pool: Pick<TenancyPool, 'query'>;
  readonly #writer: CatalogWriter;
  #unicode: Promise<boolean> | undefined;

  constructor(options: {
    database: TenantDatabase;
    pool: Pick<TenancyPool, 'query'>;
  }) {
    this.#database = options.database;
    this.#pool = options.pool;
    this.#writer = new CatalogWriter(options.database);
  }

  async getEntity(
    tenantId: string,
    entityRef: string,
  ): Promise<Entity | undefined> {
    const refs = storedRefs(entityRef).filter(isStorable);
    const [row] = await this.#database.query<{ final_entity: Entity }>(
      tenantId,
      scope => selectEntity(scope, refs),
    );
    return row?.final_entity;
  }

  async listEntities(
    tenantId: string,
    kind: string,
    limit: number = 100,
  ): Promise<ListedEntity[]> {
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
      throw new InputError(
        `Invalid limit ${limit}, expected a whole number of 1 or more`,
      );
    }
    return this.#query<ListedEntity>(tenantId, (scope, text) =>
      selectNewest(scope, text, { kind, limit }),
    );
  }

  async queryEntities(
    tenantId: string,
    query: QueryEntities = {},
  ): Promise<Entity[]> {
    refuseNegative('limit', query.limit);
    refuseNegative('offset', query.offset);
    const rows = await this.#query<{ final_entity: Entity }>(
      tenantId,
      (scope, text) => selectEntities(scope, text, query),
    );
    return rows.map(row => row.final_entity);
  }

  async getEntitiesByRefs(
    tenantId: string,
    entityRefs: string[],
    options: { filter?: FilterPredicate } = {},
  ): Promise<Array<Entity | null>> {
    const wanted = entityRefs.map(refsOrNone);
    const rows = await this.#query<{
      entity_ref: string;
      final_entity: Entity;
    }>(tenantId, (scope, text) =>
      selectEntitiesByRefs(scope, text, {
        refs: [...new Set(wanted.flat())],
        filter: options.filter,
      }),
    );
    const found = new Map(rows.map(row => [row.entity_ref, row.final_entity]));
    return wanted.map(refs => {
      const ref = refs.find(each => found.has(each));
      return ref === undefined ? null : found.get(ref)!;
    });
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

  async readPage(): Promise<EntityPage> {
    throw new NotImplementedError('Pages cannot be read yet');
  }

  async countFacets(): Promise<Record<string, FacetCount[]>> {
    throw new NotImplementedError('Facets cannot be counted yet');
  }

  async getAncestry(): Promise<EntityAncestry | undefined> {
    throw new NotImplementedError('Ancestry cannot be read yet');
  }

  async applyMutation(
    tenantId: string,
    mutation: CatalogMutation,
  ): Promise<MutationResult> {
    return this.#writer.apply(tenantId, mutation);
  }

  async #query<TRow extends object>(
    tenantId: string,
    build: (scope: TenantScope, text: ValueText) => Knex.QueryBuilder,
  ): Promise<TRow[]> {
    const unicode = await this.#hasUnicodeCollation();
    return this.#database.query<TRow>(tenantId, scope =>
      build(scope, new ValueText(scope.knex, { unicode })),
    );
  }

  /** Asked once. A server without ICU lower-cases by the database's own collation. */
  #hasUnicodeCollation(): Promise<boolean> {
    this.#unicode ??= this.#pool
      .query<{ found: boolean }>(knex =>
        knex.raw(
          `select exists (
             select from pg_catalog.pg_collation
              where collname = ? and collnamespace = 'pg_catalog'::regnamespace
                and collencoding in (-1, pg_char_to_encoding(getdatabaseencoding()))
           ) as found`,
          [UNICODE_COLLATION],
        ),
      )
      .then(([{ found }]) => found)
      .catch(error => {
        this.#unicode = undefined;
        throw error;
      });
    return this.#unicode;
  }
}

/** What is no ref is not there, as in the stock catalog. */
function refsOrNone(entityRef: string): string[] {
  try {
    return storedRefs(entityRef).filter(isStorable);
  } catch {
    return [];
  }
}

function refuseNegative(name: string, value: number | undefined): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && value >= 0)) {
    throw new InputError(
      `Invalid ${name} ${value}, expected a whole number of 0 or more`,
    );
  }
}

import type { Entity } from '@backstage/catalog-model';
import { InputError } from '@backstage/errors';
import type { FilterPredicate } from '@backstage/filter-predicates';
import { toTermKey } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import { LRUCache } from 'lru-cache';
import type {
  TenantDatabase,
  TenantQueryOptions,
  TenantScope,
} from '../database/TenantDatabase';
import type { RegistrySnapshot } from '../tenants/RegistrySnapshot';
import type {
  CatalogStore,
  EntityAncestry,
  EntityPage,
  EntityPageQuery,
  FacetCount,
  FacetsQuery,
  ListedEntity,
  QueryEntities,
  ReadOptions,
} from './CatalogStore';
import { type Condition, isStorable, readFilter } from './conditions';
import { storedRefs } from './entityRefs';
import { EntityTexts, type EntityTextRow } from './EntityTexts';
import {
  type AncestryRow,
  type FacetRow,
  selectAncestry,
  selectEntitiesByRefs,
  selectEntity,
  selectFacets,
  selectNewest,
  toAncestry,
} from './reads/others';
import { selectEntities } from './reads/list';
import { type PagePlan, planPage, selectPage } from './reads/page';
import { shortPage } from './reads/shortPage';
import { Coalescer } from '../work/Coalescer';

const MAX_LIMIT = 2 ** 31 - 1;

// All queries of this class only read, so a read replica may answer them.
const ON_ANY_SERVER: TenantQueryOptions = { mayBeStale: true };

/** How many characters the keys of the lists may have that are known to be long. */
const MOST_LONG_LISTS = 1_000_000;

interface PageRow {
  json: string | null;
  entity_id: string | null;
  value: string | null;
  /** Present if the query asked for it; null if `shortPage` found too many matches. */
  total?: number | null;
}

/**
 * The catalog store on PostgreSQL.
 *
 * Filters, orders, full text and facets use `entity_terms`. Triggers keep it equal to the stock
 * catalog's table `search`, whichever program writes the entities.
 */
export class PostgresCatalogStore implements CatalogStore {
  readonly #database: TenantDatabase;
  readonly #coalescer = new Coalescer();
  /** The lists whose `shortPage` found too many: only a hint of which statement to send. */
  readonly #longLists = new LRUCache<string, true>({
    maxSize: MOST_LONG_LISTS,
    sizeCalculation: (_, key) => key.length,
  });
  #texts = new EntityTexts();

  /** @param options - `registry`: notifies of tenants whose texts must not stay in memory */
  constructor(options: {
    database: TenantDatabase;
    registry?: Pick<RegistrySnapshot, 'subscribe'>;
  }) {
    this.#database = options.database;
    // A read under way keeps its texts in the former one.
    const forget = () => {
      this.#texts = new EntityTexts();
    };
    options.registry?.subscribe({
      onChange: change => 'tenantSlug' in change && forget(),
      onListeningChange: forget,
    });
  }

  async getEntity(
    tenantId: string,
    entityRef: string,
  ): Promise<Entity | undefined> {
    const refs = storedRefs(entityRef).filter(isStorable);
    const [row] = await this.#database.query<{ json: string }>(
      tenantId,
      scope => selectEntity(scope, refs),
      ON_ANY_SERVER,
    );
    return row && JSON.parse(row.json);
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
    return this.#database.query<ListedEntity>(
      tenantId,
      scope => selectNewest(scope, { kind, limit }),
      ON_ANY_SERVER,
    );
  }

  async queryEntities(
    tenantId: string,
    query: QueryEntities = {},
  ): Promise<Entity[]> {
    const entities = await this.readEntities(tenantId, query);
    return entities.map(json => JSON.parse(json));
  }

  async getEntitiesByRefs(
    tenantId: string,
    entityRefs: string[],
    options: { filter?: FilterPredicate } & ReadOptions = {},
  ): Promise<Array<Entity | null>> {
    const entities = await this.readEntitiesByRefs(
      tenantId,
      entityRefs,
      options,
    );
    return entities.map(json => (json === null ? null : JSON.parse(json)));
  }

  async readEntities(
    tenantId: string,
    query: QueryEntities = {},
    options: ReadOptions = {},
  ): Promise<string[]> {
    refuseNegative('limit', query.limit);
    refuseNegative('offset', query.offset);
    const condition = readFilter(query.filter);
    const rows = await this.#share<{ json: string }>(
      tenantId,
      ['list', { ...query, filter: condition }],
      scope => selectEntities(scope, condition, query),
      options,
    );
    return rows.map(({ json }) => json);
  }

  async readEntitiesByRefs(
    tenantId: string,
    entityRefs: string[],
    { filter, ...options }: { filter?: FilterPredicate } & ReadOptions = {},
  ): Promise<Array<string | null>> {
    const condition = readFilter(filter);
    const wanted = entityRefs.map(refsOrNone);
    const found = await this.#coalescer.lookUp(
      tenantId,
      ['refs', condition],
      [...new Set(wanted.flat())],
      (refs, shared) => this.#textsOf(tenantId, { refs, condition }, shared),
      options,
    );
    return wanted.map(refs => {
      const ref = refs.find(each => found.has(each));
      return ref === undefined ? null : found.get(ref)!;
    });
  }

  async readPage(
    tenantId: string,
    query: EntityPageQuery,
    options: ReadOptions = {},
  ): Promise<EntityPage> {
    refuseNegative('limit', query.limit);
    refuseNegative('offset', query.offset);
    const plan = planPage(query);
    const rows = await this.#coalescer.ask<readonly Readonly<PageRow>[]>(
      tenantId,
      ['page', { ...query, filter: plan.condition }],
      shared => this.#pageRows(tenantId, plan, query, shared),
      options,
    );
    return {
      rows: rows.flatMap(({ json, entity_id: entityId, value }) =>
        // An empty page has one row, with the total and no entity.
        json === null || entityId === null
          ? []
          : [{ json, entityId, ...(value !== null && { value }) }],
      ),
      ...(query.total && { totalItems: rows[0].total ?? undefined }),
    };
  }

  async countFacets(
    tenantId: string,
    query: FacetsQuery,
    options: ReadOptions = {},
  ): Promise<Record<string, FacetCount[]>> {
    const condition = readFilter(query.filter);
    const rows = await this.#share<FacetRow>(
      tenantId,
      ['facets', { ...query, filter: condition }],
      scope => selectFacets(scope, condition, query),
      options,
    );
    const byKey = new Map<string, FacetCount[]>();
    for (const { key, value, count } of rows) {
      const counts = byKey.get(key) ?? [];
      counts.push({ value, count });
      byKey.set(key, counts);
    }
    return Object.fromEntries(
      query.facets.map(facet => [
        facet,
        byKey.get(toTermKey(facet.toLowerCase())) ?? [],
      ]),
    );
  }

  async getAncestry(
    tenantId: string,
    entityRef: string,
    options: ReadOptions = {},
  ): Promise<EntityAncestry | undefined> {
    const refs = storedRefs(entityRef);
    const rows = await this.#share<AncestryRow>(
      tenantId,
      ['ancestry', { refs }],
      scope => selectAncestry(scope, refs.filter(isStorable)),
      options,
    );
    return toAncestry(rows, refs);
  }

  /** The rows of a page, of one statement. Tries the one for short lists first. */
  async #pageRows(
    tenantId: string,
    plan: PagePlan,
    query: EntityPageQuery,
    options: ReadOptions,
  ): Promise<PageRow[]> {
    const read = (build: (scope: TenantScope) => Knex.Raw) =>
      this.#database.query<PageRow>(tenantId, build, {
        ...ON_ANY_SERVER,
        ...options,
      });
    const short = shortPage(plan, query);
    const list = `${tenantId} ${JSON.stringify([
      plan.condition,
      query.fullText,
      query.order?.field,
    ])}`;
    if (short && !this.#longLists.has(list)) {
      const rows = await read(short);
      if (rows[0].total !== null) {
        return rows;
      }
      this.#longLists.set(list, true);
    }
    return read(scope => selectPage(scope, plan, query));
  }

  /** The texts of the entities with these refs that match the condition, by ref. */
  async #textsOf(
    tenantId: string,
    query: { refs: string[]; condition: Condition },
    options: ReadOptions,
  ): Promise<Map<string, string>> {
    const texts = this.#texts;
    const kept = texts.of(tenantId, query.refs);
    const known = Array.from(kept.values(), ({ version }) => version);
    const rows = await this.#database.query<EntityTextRow>(
      tenantId,
      scope => selectEntitiesByRefs(scope, { ...query, known }),
      { ...ON_ANY_SERVER, ...options },
    );
    return new Map(
      rows.map(row => [row.entity_ref, texts.textOf(tenantId, row, kept)]),
    );
  }

  /**
   * Runs equal concurrent reads once, such as those of users who open the same page. The filter
   * includes the caller's permissions, so callers share a result only if they may read the same
   * entities.
   *
   * @param question - identifies the query; filters are compared as parsed conditions
   */
  #share<TRow extends object>(
    tenantId: string,
    question: [what: string, query: object],
    build: (scope: TenantScope) => Knex.QueryBuilder | Knex.Raw,
    options: ReadOptions,
  ): Promise<readonly Readonly<TRow>[]> {
    return this.#coalescer.ask<readonly Readonly<TRow>[]>(
      tenantId,
      question,
      shared =>
        this.#database.query<TRow>(tenantId, build, {
          ...ON_ANY_SERVER,
          ...shared,
        }),
      options,
    );
  }
}

/** As in the stock catalog, a malformed ref matches no entity. */
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

import { InputError } from '@backstage/errors';
import type { FilterPredicate } from '@backstage/filter-predicates';
import type { EntityPageRow } from 'backstage-plugin-catalog-tenancy-node';
import { isEqual } from 'lodash';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';
import { allOf, toFilterPredicate } from '../predicates';
import type {
  EntityCursor,
  FullTextFilter,
  PageOrder,
  RowPlace,
} from './EntityCursor';

const DEFAULT_LIMIT = 200;

/** The first page of a list. */
export interface FirstPageRequest {
  query?: FilterPredicate;
  orderFields?: PageOrder[];
  fullTextFilter?: FullTextFilter;
  limit?: number;
  offset?: number;
  /** Whether to count the entities of the list. */
  countItems: boolean;
}

/** A page at a cursor. */
export interface FollowingPageRequest {
  cursor: EntityCursor;
  limit?: number;
}

export type PageRequest = FirstPageRequest | FollowingPageRequest;

/** A page of entities as JSON texts, with the cursors of its neighbours. */
export interface EntityListPage {
  items: string[];
  totalItems: number;
  nextCursor?: EntityCursor;
  prevCursor?: EntityCursor;
}

/**
 * The parts of a cursor that are equal on all pages of a list, and the place where the page
 * begins.
 */
type List = Omit<EntityCursor, 'orderFieldValues'> &
  Partial<Pick<EntityCursor, 'orderFieldValues'>>;

/**
 * Reads a page of a tenant's entities that the caller may see, with the stock catalog's
 * semantics.
 *
 * If reading is denied, the page is empty for any cursor.
 *
 * @throws InputError for a cursor whose place does not fit its order
 */
export async function readEntityPage(
  catalog: ReadableCatalogStore,
  tenantId: string,
  request: PageRequest,
): Promise<EntityListPage> {
  const { limit = DEFAULT_LIMIT } = request;
  const list = listOf(request);
  const page = await catalog.readPage(tenantId, {
    filter: allOf(list.filter && toFilterPredicate(list.filter), list.query),
    order: orderOf(list),
    fullText: list.fullTextFilter,
    // One extra row shows whether there is a next page. A previous page always has one.
    limit: limit > 0 && !list.isPrevious ? limit + 1 : limit,
    offset: 'cursor' in request ? undefined : request.offset,
    after: placeToGoOn(list),
    backwards: list.isPrevious,
    total: 'cursor' in request ? false : request.countItems,
  });
  if (!page) {
    return { items: [], totalItems: 0 };
  }
  const rows = list.isPrevious ? [...page.rows].reverse() : page.rows;
  const shown = rows.slice(0, limit);
  const totalItems = list.totalItems ?? page.totalItems ?? 0;
  return {
    items: shown.map(row => row.json),
    totalItems,
    ...cursorsAround(list, shown, {
      totalItems,
      hasNext: limit > 0 && (list.isPrevious || rows.length > limit),
    }),
  };
}

function listOf(request: PageRequest): List {
  // The keys are in the same order as in the stock catalog's cursors.
  const beginning = { orderFields: [], isPrevious: false };
  if ('cursor' in request) {
    return { ...beginning, ...request.cursor };
  }
  const { query, orderFields = [], fullTextFilter } = request;
  return { ...beginning, query, orderFields, fullTextFilter };
}

function orderOf({ orderFields }: List) {
  const [first] = orderFields;
  return first && { field: first.field, order: first.order ?? 'asc' };
}

/** The place after which the page begins; undefined for the first page. */
function placeToGoOn(list: List) {
  const { orderFieldValues: place = [], orderFields, isPrevious } = list;
  if (place.length < 1 || place.length > 2) {
    return undefined;
  }
  const isDescending =
    isPrevious !== (place.length > 1 && orderOf(list)?.order === 'desc');
  // A null id is after all ids in the direction of reading.
  const entityId = place[place.length - 1] ?? (isDescending ? '' : 'g');
  if (place.length === 1) {
    return { entityId };
  }
  if (orderFields.length === 0) {
    throw new InputError(
      'Malformed cursor: orderFieldValues has a value, expected the id alone as there are no orderFields',
    );
  }
  return { value: place[0] ?? null, entityId };
}

function cursorsAround(
  list: List,
  rows: EntityPageRow[],
  { hasNext, totalItems }: { hasNext: boolean; totalItems: number },
): Pick<EntityListPage, 'nextCursor' | 'prevCursor'> {
  const isOrdered = list.orderFields.length > 0;
  const first = placeOf(rows[0], isOrdered);
  const last = placeOf(rows[rows.length - 1], isOrdered);
  const { firstSortFieldValues } = list;
  const hasPrevious =
    firstSortFieldValues !== undefined &&
    rows.length > 0 &&
    !isEqual(first, firstSortFieldValues);
  return {
    nextCursor: hasNext
      ? {
          ...list,
          orderFieldValues: last,
          firstSortFieldValues: firstSortFieldValues ?? first,
          isPrevious: false,
          totalItems,
        }
      : undefined,
    prevCursor: hasPrevious
      ? {
          ...list,
          orderFieldValues: first,
          firstSortFieldValues,
          isPrevious: true,
          totalItems,
        }
      : undefined,
  };
}

function placeOf(row: EntityPageRow | undefined, isOrdered: boolean): RowPlace {
  return isOrdered ? [row?.value, row?.entityId] : [row?.entityId];
}

import { InputError } from '@backstage/errors';
import type { FilterPredicate } from '@backstage/filter-predicates';
import type {
  EntityPage,
  EntityPageQuery,
  EntityPageRow,
} from 'backstage-plugin-catalog-tenancy-node';
import { isEqual, pick } from 'lodash';
import type { ReadableCatalogStore } from '../authorization/AuthorizedCatalogStore';
import { allOf, toFilterPredicate } from '../predicates';
import type {
  EntityCursor,
  FullTextFilter,
  PageOrder,
  RowPlace,
} from './EntityCursor';
import { PART_SIZE } from './readInParts';
import type { Parts } from './response';

const DEFAULT_LIMIT = 200;
/** What of a row is its place in the order. */
const PLACE = ['value', 'entityId'] as const;

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

/** A page of entities as JSON texts, which may be read while it is sent. */
export interface EntityListPage {
  parts: Parts;
  /** The number of entities of the list, and the cursors; to be called when all parts are read. */
  describe(): {
    totalItems: number;
    nextCursor?: EntityCursor;
    prevCursor?: EntityCursor;
  };
}

/**
 * The parts of a cursor that are equal on all pages of a list, and the place where the page
 * begins.
 */
type List = Omit<EntityCursor, 'orderFieldValues'> &
  Partial<Pick<EntityCursor, 'orderFieldValues'>>;

/** Reads a page in parts, each of which begins after the last row of the previous one. */
class PageReader {
  isComplete = false;
  readonly #read: (
    part: Omit<EntityPageQuery, 'filter' | 'order' | 'fullText' | 'backwards'>,
  ) => Promise<EntityPage | undefined>;
  readonly #list: List;
  readonly #limit: number;
  /** How many rows to read. One more than to show tells whether there is a next page. */
  #left: number;
  #start: Pick<EntityPageQuery, 'after' | 'offset' | 'total'>;
  #first?: EntityPageRow;
  #last?: EntityPageRow;
  #shown = 0;
  #totalItems = 0;
  #isDenied = false;

  constructor(
    catalog: ReadableCatalogStore,
    tenantId: string,
    request: PageRequest,
  ) {
    const list = listOf(request);
    const { isPrevious } = list;
    const { limit = DEFAULT_LIMIT } = request;
    this.#list = list;
    // A previous page is read from its end, so it has no further parts.
    this.#limit = isPrevious ? Math.min(limit, PART_SIZE) : limit;
    // A previous page always has a next one.
    this.#left = limit > 0 && !isPrevious ? limit + 1 : this.#limit;
    this.#start = {
      after: placeToGoOn(list),
      ...(!('cursor' in request) && {
        offset: request.offset,
        total: request.countItems,
      }),
    };
    const query = {
      filter: allOf(list.filter && toFilterPredicate(list.filter), list.query),
      order: orderOf(list),
      fullText: list.fullTextFilter,
      backwards: isPrevious,
    };
    this.#read = part => catalog.readPage(tenantId, { ...query, ...part });
  }

  /** The next part; the last one may be empty. */
  async readPart(): Promise<string[]> {
    const limit = Math.min(this.#left, PART_SIZE);
    const page = await this.#read({ ...this.#start, limit });
    const rows = page?.rows ?? [];
    const shown = this.#list.isPrevious
      ? rows.toReversed()
      : rows.slice(0, this.#limit - this.#shown);
    this.#isDenied = page === undefined;
    this.#totalItems = page?.totalItems ?? this.#totalItems;
    this.#left -= rows.length;
    this.#shown += shown.length;
    this.#first ??= shown[0];
    this.#last = shown.at(-1) ?? this.#last;
    this.#start = { after: this.#last && pick(this.#last, PLACE) };
    this.isComplete = this.#left === 0 || rows.length < limit;
    return shown.map(row => row.json);
  }

  /** What is known of the list once all parts are read. */
  describe(): ReturnType<EntityListPage['describe']> {
    if (this.#isDenied) {
      return { totalItems: 0 };
    }
    const totalItems = this.#list.totalItems ?? this.#totalItems;
    return {
      totalItems,
      ...cursorsAround(this.#list, [this.#first, this.#last], {
        totalItems,
        hasNext: this.#limit > 0 && (this.#list.isPrevious || this.#left === 0),
      }),
    };
  }
}

/**
 * Reads a page of a tenant's entities that the caller may see, with the stock catalog's
 * semantics. A long page is read in parts, on demand.
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
  const reader = new PageReader(catalog, tenantId, request);
  const first = await reader.readPart();
  return {
    parts: reader.isComplete ? [first] : allParts(first, reader),
    describe: () => reader.describe(),
  };
}

async function* allParts(
  first: string[],
  reader: PageReader,
): AsyncGenerator<string[]> {
  yield first;
  while (!reader.isComplete) {
    yield await reader.readPart();
  }
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
  [firstRow, lastRow]: Array<EntityPageRow | undefined>,
  { hasNext, totalItems }: { hasNext: boolean; totalItems: number },
): { nextCursor?: EntityCursor; prevCursor?: EntityCursor } {
  const isOrdered = list.orderFields.length > 0;
  const first = placeOf(firstRow, isOrdered);
  const last = placeOf(lastRow, isOrdered);
  const { firstSortFieldValues } = list;
  const hasPrevious =
    firstSortFieldValues !== undefined &&
    firstRow !== undefined &&
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

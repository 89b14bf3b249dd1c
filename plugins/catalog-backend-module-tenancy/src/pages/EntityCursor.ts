import type { EntityOrder } from 'backstage-plugin-catalog-tenancy-node';
import type { FilterPredicate } from '@backstage/filter-predicates';
import type { SearchCriteria } from '../predicates';

/** A field that pages are ordered by: ascending, if the caller does not say. */
export interface PageOrder {
  field: string;
  order?: EntityOrder['order'];
}

/** What the text of entities is searched for. */
export interface FullTextFilter {
  term: string;
  fields?: string[];
}

/** The place of a row in the order: its id, after the value of the order if any. */
export type RowPlace = Array<string | null | undefined>;

/**
 * Where a page ends, and what its list is of: all that the next page takes. The keys
 * are those of the stock catalog, whose clients may have kept one.
 *
 * It comes back from the caller, who may have written it. So it says nothing about
 * the tenant or about what the caller may read: those are the request's.
 */
export interface EntityCursor {
  /** Only the first of them counts. */
  orderFields: PageOrder[];
  fullTextFilter?: FullTextFilter;
  orderFieldValues: RowPlace;
  /** In place of `query` in cursors of earlier versions of Backstage. */
  filter?: SearchCriteria;
  /** Whether it leads to the page before. */
  isPrevious: boolean;
  query?: FilterPredicate;
  /** The place of the first row of the first page. */
  firstSortFieldValues?: RowPlace;
  totalItems?: number;
}

/** The form in which a cursor goes to callers. */
export function encodeCursor(cursor: EntityCursor): string {
  return Buffer.from(JSON.stringify(cursor), 'utf8').toString('base64');
}

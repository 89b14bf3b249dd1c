import type { EntityOrder } from 'backstage-plugin-catalog-tenancy-node';
import type { FilterPredicate } from '@backstage/filter-predicates';
import type { SearchCriteria } from '../predicates';

/** A field that pages are ordered by; ascending by default. */
export interface PageOrder {
  field: string;
  order?: EntityOrder['order'];
}

/** A full-text search. */
export interface FullTextFilter {
  term: string;
  fields?: string[];
}

/** The place of a row in the order: the order value, if any, and the id. */
export type RowPlace = Array<string | null | undefined>;

/**
 * The query of a list and the place where a page ends: everything needed for the next page. The
 * keys are those of the stock catalog, because clients may have stored its cursors.
 *
 * Callers can forge cursors, so a cursor contains neither the tenant nor permissions.
 */
export interface EntityCursor {
  /** Only the first one is used. */
  orderFields: PageOrder[];
  fullTextFilter?: FullTextFilter;
  orderFieldValues: RowPlace;
  /** The filter in cursors of earlier Backstage versions, which lack `query`. */
  filter?: SearchCriteria;
  /** Whether the cursor leads to the previous page. */
  isPrevious: boolean;
  query?: FilterPredicate;
  /** The place of the first row of the first page. */
  firstSortFieldValues?: RowPlace;
  totalItems?: number;
}

/** Encodes a cursor for clients. */
export function encodeCursor(cursor: EntityCursor): string {
  return Buffer.from(JSON.stringify(cursor), 'utf8').toString('base64');
}

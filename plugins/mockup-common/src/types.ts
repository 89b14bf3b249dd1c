/** One page of a list. @public */
export interface Page<TItem> {
  /** The entries on this page. */
  items: TItem[];
  /** How many there are on all pages together. */
  totalItems: number;
  /** Leads to the next page, where there is one. */
  nextCursor?: string;
}

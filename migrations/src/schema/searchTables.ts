/**
 * The tables that are made of the entities: the application reads them, and only
 * triggers write to them.
 */
export const SEARCH_TABLES = ['entity_search', 'entity_parents'] as const;

export type SearchTable = (typeof SEARCH_TABLES)[number];

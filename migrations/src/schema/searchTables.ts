/**
 * The tables that are made of the entities: the application reads them, and only
 * triggers write to them.
 */
export const SEARCH_TABLES = ['entity_search', 'entity_parents'] as const;

export type SearchTable = (typeof SEARCH_TABLES)[number];

/**
 * The table that is there while tenants can be served: the partitioned tables are in
 * use, and all entities have their terms.
 */
export const READY_TABLE = 'tenancy_ready';

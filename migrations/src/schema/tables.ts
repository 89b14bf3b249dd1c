/** The tables whose rows belong to a tenant, referenced before referencing. */
export const TENANT_TABLES = [
  'entities',
  'relations',
  'refresh_state',
] as const;

export type TenantTable = (typeof TENANT_TABLES)[number];

/** Those of them whose rows are about an entity. */
export const REFERENCING_TABLES = ['relations', 'refresh_state'] as const;

/** The column that names the entity a row is about. */
export const ENTITY_KEY: Record<TenantTable, string> = {
  entities: 'entity_id',
  relations: 'originating_entity_id',
  refresh_state: 'entity_id',
};

/** The tenant of the rows from before the migration (specification, B.1). */
export const DEFAULT_TENANT_ID = '00000000-0000-0000-0000-000000000001';
export const DEFAULT_TENANT_SLUG = 'default';
/** Its name, unless another one is given. */
export const DEFAULT_TENANT_NAME = 'Default tenant';

/** The check of the single-tenant tables, which the partitioned ones lack. */
export function oneTenantCheck(table: TenantTable): string {
  return `${table}_one_tenant_check`;
}

/**
 * The tables derived from the entities: the application reads them, and only triggers write
 * to them.
 */
export const SEARCH_TABLES = ['entity_terms', 'entity_parents'] as const;

export type SearchTable = (typeof SEARCH_TABLES)[number];

/** The table of the tenants that a catalog engine feeds. */
export const ENGINES_TABLE = 'tenant_engines';

/**
 * The columns of the registry for limits of single tenants, and the most that each takes: as
 * much as the configuration of all tenants does.
 */
export const TENANT_LIMITS: Readonly<Record<string, number>> = {
  concurrency: 10_000,
  requests_per_second: 1_000_000,
  burst: 1_000_000,
};

/** The table of the processes that divide the tenants among themselves. */
export const PROCESSES_TABLE = 'engine_processes';

/** The table of which process does the background work of which tenant. */
export const LEASES_TABLE = 'engine_leases';

/** The table of what these engines do. */
export const ENGINE_STATUS_TABLE = 'engine_status';

/** The table of the slugs of purged tenants. */
export const RETIRED_TABLE = 'retired_slugs';

/**
 * The table that exists while an application can serve tenants: the partitioned tables are
 * in use, and all entities have their terms.
 */
export const READY_TABLE = 'tenancy_ready';

/** For how long, in hours, the tables of before the swap are kept at least. */
export const RETENTION_HOURS = 24;

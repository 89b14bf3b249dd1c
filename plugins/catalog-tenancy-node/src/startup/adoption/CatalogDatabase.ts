import type { ClientConfig } from 'pg';

/** The database that the stock catalog and the tenants share. */
export interface CatalogDatabase {
  /** How the catalog plugin connects. */
  connection: ClientConfig;
  /** The schema of the tables of tenants. */
  schema: string;
  /** That of the stock catalog's tables. */
  catalogSchema?: string;
}

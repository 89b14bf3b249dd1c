import type { z } from 'zod';
import type {
  findPrincipalsSchema,
  listTenantsQuerySchema,
  TenantCatalogConfig,
} from './schemas';

/** Which summaries of tenants to list, and in which order. @public */
export type ListTenantSummaries = Omit<
  z.input<typeof listTenantsQuerySchema>,
  'summary'
>;

/**
 * Which users and groups of the identity catalog are asked for: either those that match a
 * search, or those that are named.
 *
 * @public
 */
export interface FindPrincipals
  extends Omit<z.input<typeof findPrincipalsSchema>, 'principal'> {
  /** Those of these references that the catalog has; 50 at most. */
  principals?: string[];
}

/** The configuration of a tenant's engine, as the client reads it. @public */
export type ReadCatalogConfig = TenantCatalogConfig & {
  /**
   * Names this state of the configuration (`ETag`). A write that gives it as `ifMatch` is
   * refused once somebody else has changed the configuration. Nothing where the operator
   * configures the engine.
   */
  etag?: string;
};

/** A page of a list. @public */
export interface Page<TItem> {
  /** The entries of this page. */
  items: TItem[];
  /** How many entries all pages have. */
  totalItems: number;
}

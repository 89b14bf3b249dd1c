export type { CatalogMutation, MutationResult } from './CatalogMutation';
export type {
  CatalogStore,
  EntityAncestry,
  EntityOrder,
  EntityPage,
  EntityPageQuery,
  EntityPageRow,
  FacetCount,
  FacetsQuery,
  ListedEntity,
  QueryEntities,
} from './CatalogStore';
export {
  purgeDeletedEntities,
  type PurgedTenant,
} from './purgeDeletedEntities';

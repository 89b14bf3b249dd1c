export type { CatalogMutation, MutationResult } from './CatalogMutation';
export type {
  CatalogStore,
  EntityOrder,
  ListedEntity,
  QueryEntities,
} from './CatalogStore';
export {
  purgeDeletedEntities,
  type PurgedTenant,
} from './purgeDeletedEntities';

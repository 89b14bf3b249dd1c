export { selectAncestry, toAncestry, type AncestryRow } from './ancestry';
export { selectEntitiesByRefs, selectEntity } from './byRef';
export { selectFacets } from './facets';
export { selectEntities } from './list';
export { selectNewest, UNICODE_COLLATION } from './newest';
export { selectPage } from './page';

export type { CatalogAdoption } from './CatalogAdoption';
export { COMPLETE_ADOPTION } from './CatalogAdoption';
export type { CatalogDatabase } from './CatalogDatabase';
export { decideAdoption } from './decideAdoption';
export { noteIntent } from './intent';
export { refuseToAdopt, WHOLE_WAY } from './refusals';

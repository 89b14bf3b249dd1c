/** How much there is, and how long it is watched. */
export interface Size {
  entities: number;
  relationsPerEntity: number;
  /** Those of the catalog whose entity_search is filled. */
  searchedEntities: number;
  /** For how long the writers are watched before anything is done. */
  baselineSeconds: number;
  /** How often the tables are swapped back and forth after phase 5. */
  swaps: number;
}

export const FULL: Size = {
  entities: 1_000_000,
  relationsPerEntity: 3,
  searchedEntities: 50_000,
  baselineSeconds: 60,
  swaps: 6,
};

export const SHORT: Size = {
  entities: 1_000,
  relationsPerEntity: 3,
  searchedEntities: 1_000,
  baselineSeconds: 0.5,
  swaps: 1,
};

/** All rows of the three tables: each entity has one of refresh_state. */
export function rowsOf({ entities, relationsPerEntity }: Size): number {
  return entities * (2 + relationsPerEntity);
}

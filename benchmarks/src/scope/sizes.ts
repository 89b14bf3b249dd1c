/** How much there is, and where it is measured how. */
export interface Size {
  /** How many tenants there are, one step after the other. */
  tenants: number[];
  entitiesPerTenant: number;
  /** How many entities `listEntities` is asked for. */
  limit: number;
  /** The step that is measured from further away and with more connections, too. */
  judged: number;
  /** The step whose duration growth is judged by, at the last one. */
  growsFrom: number;
  /** Beside one. */
  connections: number[];
}

export const FULL: Size = {
  tenants: [1, 10, 100, 500, 1_000],
  entitiesPerTenant: 1_000,
  limit: 100,
  judged: 500,
  growsFrom: 10,
  connections: [10, 50],
};

export const SHORT: Size = {
  tenants: [2, 5],
  entitiesPerTenant: 20,
  limit: 5,
  judged: 5,
  growsFrom: 2,
  connections: [2],
};

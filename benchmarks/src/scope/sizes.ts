/** How much there is, and where it is measured how. */
export interface Size {
  /** How many tenants there are, one step after the other. */
  tenants: number[];
  entitiesPerTenant: number;
  /** How many of the tenants have the terms of their entities, which nobody reads here. */
  tenantsWithTerms: number;
  /** How many entities `listEntities` is asked for. */
  limit: number;
  /** The step that is measured from further away and with more connections, too. */
  judged: number;
  /** The step whose duration growth is judged by, at the last one. */
  growsFrom: number;
  /** Beside one. */
  connections: number[];
  /** How long one measurement takes. */
  secondsOf(seconds: number): number;
}

export const FULL: Size = {
  tenants: [1, 10, 100, 500, 1_000],
  entitiesPerTenant: 1_000,
  tenantsWithTerms: 10,
  limit: 100,
  judged: 500,
  growsFrom: 10,
  connections: [10, 50],
  secondsOf: seconds => seconds,
};

export const SHORT: Size = {
  tenants: [2, 5],
  entitiesPerTenant: 20,
  tenantsWithTerms: 2,
  limit: 5,
  judged: 5,
  growsFrom: 2,
  connections: [2],
  // There is a lot to measure: what is to show that it works is to be over soon.
  secondsOf: seconds => seconds / 10,
};

/** How a number of tenants is told. */
export function countOf(tenants: number): string {
  return `${tenants.toLocaleString('en')} tenant${tenants === 1 ? '' : 's'}`;
}

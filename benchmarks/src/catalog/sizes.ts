/** A catalog to be measured. */
export interface Size {
  entities: number;
  /** How many tenants there are, where our side is to be one among several. */
  tenants?: number;
}

/** How many entities each of the other tenants has. */
export const ENTITIES_OF_OTHERS = 50;

export const FULL: Size[] = [
  { entities: 5_000 },
  { entities: 50_000 },
  { entities: 50_000, tenants: 500 },
];

// Each takes two backends. That the default tenant's answers are the stock catalog's,
// the tests of the module show.
export const SHORT: Size[] = [{ entities: 500, tenants: 10 }];

/** How a size is called in the report. */
export function describeSize({ entities, tenants }: Size): string {
  const count = entities.toLocaleString('en');
  return tenants ? `${count}, 1 of ${tenants} tenants` : count;
}

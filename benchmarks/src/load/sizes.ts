/** How much load there is, and for how long. */
export interface Size {
  tenants: number;
  /** That never change, in the first tenant; each further one has one more. */
  entities: number;
  clients: number;
  /** In the unit of `--seconds`. */
  warmUp: number;
  load: number;
  noisy: {
    /** How many entities the noisy tenant has. */
    entities: number;
    /** How many clients it has. */
    clients: number;
    /** How many other tenants there are, with one client each. */
    quiet: number;
    /** How long a round is, in the unit of `--seconds`. */
    seconds: number;
  };
}

export const FULL: Size = {
  tenants: 100,
  entities: 100,
  clients: 200,
  warmUp: 10,
  load: 60,
  noisy: { entities: 10_000, clients: 40, quiet: 10, seconds: 4 },
};

export const SHORT: Size = {
  tenants: 4,
  entities: 30,
  clients: 8,
  warmUp: 2,
  load: 5,
  noisy: { entities: 200, clients: 6, quiet: 3, seconds: 1 },
};

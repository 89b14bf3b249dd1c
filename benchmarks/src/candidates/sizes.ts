/** How much there is, and for how long each candidate is asked. */
export interface Size {
  entities: number;
  /** Beside the tenant that is measured. */
  otherTenants: number;
  entitiesOfOthers: number;
  secondsOf(seconds: number): number;
}

export const FULL: Size = {
  entities: 50_000,
  otherTenants: 499,
  entitiesOfOthers: 100,
  secondsOf: seconds => seconds / 2,
};

export const SHORT: Size = {
  entities: 500,
  otherTenants: 4,
  entitiesOfOthers: 50,
  secondsOf: seconds => seconds / 20,
};

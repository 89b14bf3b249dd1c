// The operator's commands as processes, and random numbers that a seed repeats: the
// tests of the migration have both.
/* eslint-disable @backstage/no-forbidden-package-imports */
export { Random } from 'backstage-catalog-tenancy-migrations/src/liveTraffic/Random';
export { Operator } from 'backstage-catalog-tenancy-migrations/src/liveTraffic/__testUtils__/Operator';
export type { Command } from 'backstage-catalog-tenancy-migrations/src/liveTraffic/__testUtils__/Operator';
export { APPLICATION_PREFIX } from 'backstage-catalog-tenancy-migrations/src/session/operatorLock';

// The operator's commands as processes, and random numbers that a seed repeats: the
// tests of the migration have both.
/* eslint-disable @backstage/no-relative-monorepo-imports */
export { Random } from '@internal/postgres/testUtils';
export { Operator } from '../../../../../migrations/src/liveTraffic/__testUtils__/Operator';
export type { Command } from '../../../../../migrations/src/liveTraffic/__testUtils__/Operator';
export { runInProcess } from '../../../../../migrations/src/cli/__testUtils__/runCli';
export { APPLICATION_PREFIX } from '../../../../../migrations/src/session/operatorLock';

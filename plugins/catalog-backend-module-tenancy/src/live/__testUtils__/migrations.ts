// The operator's commands as processes, from the tests of the migration.
/* eslint-disable @backstage/no-relative-monorepo-imports */
export { Operator } from '../../../../../migrations/src/liveTraffic/__testUtils__/Operator';
export { runInProcess } from '../../../../../migrations/src/cli/__testUtils__/runCli';

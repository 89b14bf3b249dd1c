'use strict';

const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * The test files that take longest, the longest first. Each takes ten seconds of CPU or
 * more, or waits as long.
 */
const LONGEST = [
  'plugins/catalog-backend-module-tenant-engines/src/chaos/chaos.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/manager/kills.test.ts',
  'plugins/catalog-backend-module-tenancy/src/live/live.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/isolation.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/live.test.ts',
  'migrations/src/liveTraffic/chaos.test.ts',
  'plugins/catalog-backend-module-tenancy/src/differential/generated.test.ts',
  'packages/backend/dev/start.test.ts',
  'migrations/src/rollback/dryRunScripts.test.ts',
  'plugins/catalog-backend-module-tenancy/src/live/kills.test.ts',
  'plugins/catalog-backend-module-tenancy/src/adoption/adoption.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/tables/upstreamMigrations.test.ts',
  'migrations/src/adopt/earlier.test.ts',
  'migrations/src/adopt/concurrency.test.ts',
  'plugins/catalog-tenancy-node/src/database/model.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/routes/github.test.ts',
  'migrations/src/liveTraffic/liveTraffic.test.ts',
  'migrations/src/cli/wholeWay.test.ts',
  'plugins/catalog-backend-module-tenancy/src/differential/policies.test.ts',
  'plugins/mockup/src/editor/Editor.test.tsx',
  'migrations/src/partitions/killed.test.ts',
  'migrations/src/cli/phases.test.ts',
  'migrations/src/liveTraffic/harness.test.ts',
  'migrations/src/phases/takenNames.test.ts',
  'plugins/catalog-tenancy-node/src/replica/loss.test.ts',
  'plugins/catalog-backend-module-tenancy/src/live/upgrades.test.ts',
];

/**
 * Begins a run with the files that take longest, so that none of them is the last while the
 * other workers have nothing left to do. Jest does so by the times of earlier runs, and by
 * the sizes of files where it has none, such as in a new clone: a few of these are short.
 */
class LongestFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const index = LONGEST.findIndex(file => path.endsWith(`/${file}`));
      return index === -1 ? LONGEST.length : index;
    };
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
}

module.exports = LongestFirst;
module.exports.LONGEST = LONGEST;

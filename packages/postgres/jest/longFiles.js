'use strict';

const { createHash } = require('node:crypto');

/**
 * The test files that take longest: each takes some four seconds alone or more, or
 * waits as long. Together they take more than four fifths of the time of all. Some that take as long run
 * always, because they show what matters most: the copy and the swap, adoption, an engine, limits.
 */
const LONG_FILES = [
  'plugins/catalog-backend-module-tenant-engines/src/isolation.test.ts',
  'packages/backend/dev/deployed.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/engine/sleep.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/plugins/techdocs.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/sources/SourceParser.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/plugins/events.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/code/code.test.ts',
  'packages/pages/src/slow.test.tsx',
  'migrations/src/tenant/move.test.ts',
  'migrations/src/productTables/productTables.test.ts',
  'packages/backend/dev/start.test.ts',
  'migrations/src/managed.test.ts',
  'plugins/catalog-backend-module-tenancy/src/adoption/location.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/shares/kills.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/shares/shares.test.ts',
  'plugins/catalog-backend-module-tenancy/src/live/live.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/live.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/tables/upstreamMigrations.test.ts',
  'plugins/mockup/src/editor/Editor.test.tsx',
  'migrations/src/adopt/tenants.test.ts',
  'packages/app/src/App.test.tsx',
  'plugins/catalog-backend-module-tenant-engines/src/tables/upgrades.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/tables/liveMove.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/tables/EngineTables.test.ts',
  'plugins/tenants/src/administration/members/MembersTab.test.tsx',
  'plugins/mockup/src/list/MockupList.test.tsx',
  'plugins/catalog-backend-module-tenancy/src/adoption/adoption.test.ts',
  'migrations/src/checks/bypasses.test.ts',
  'plugins/catalog-tenancy-node/src/startup/startTenancy.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/chaos/chaos.test.ts',
  'migrations/src/resumption/everyStatement.test.ts',
  'plugins/catalog-backend-module-tenancy/src/audit/kills.test.ts',
  'plugins/mockup/src/sharing/ShareDialog.test.tsx',
  'plugins/tenants/src/administration/shares/SharesTab.test.tsx',
  'plugins/tenants/src/administration/members/Invitations.test.tsx',
  'plugins/catalog-backend-module-tenant-engines/src/signIn/signIn.test.ts',
  'migrations/src/liveTraffic/chaos.test.ts',
  'plugins/catalog-backend-module-tenancy/src/live/upgrades.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/status/status.test.ts',
  'packages/postgres/src/survival.test.ts',
  'migrations/src/partitions/commands.test.ts',
  'plugins/mockup/src/history/history.test.tsx',
  'plugins/catalog-tenancy-node/src/startup/checkDatabase.test.ts',
  'migrations/src/checks/examineIsolation.test.ts',
  'packages/backend/dev/signIn.test.ts',
  'plugins/tenants/src/administration/tenant/TenantPage.test.tsx',
  'benchmarks/src/index.test.ts',
  'migrations/src/adopt/concurrency.test.ts',
  'plugins/catalog-backend-module-tenancy/src/gate/stockPortal.test.ts',
  'migrations/src/session/lockRetries.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/sources/setAside.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/tables/tenantFile.test.ts',
  'plugins/mockup/src/components/live/live.test.tsx',
  'plugins/catalog-backend-module-tenant-engines/src/members/members.test.ts',
  'plugins/tenants/src/openTenant/openTenant.test.tsx',
  'migrations/src/tenant/import.test.ts',
  'migrations/src/cli/doctor.test.ts',
  'plugins/mockup/src/pages/pages.test.tsx',
  'plugins/tenants/src/administration/members/signIn/SignIn.test.tsx',
  'migrations/src/phases/phase4_row_level_security/refusals.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/tables/kills.test.ts',
  'plugins/mockup-backend/src/http/properties.test.ts',
  'migrations/src/cli/schemaName.test.ts',
  'plugins/catalog-backend-module-tenancy/src/routes/outage.test.ts',
  'migrations/src/checks/publications.test.ts',
  'packages/postgres/src/Postgres.test.ts',
  'migrations/src/liveTraffic/staleSnapshot.test.ts',
  'migrations/src/checks/shape.test.ts',
  'plugins/catalog-backend-module-tenancy/src/differential/policies.test.ts',
  'packages/postgres/src/root.test.ts',
  'plugins/tenants/src/administration/list/TenantList.test.tsx',
  'migrations/src/cli/phases.test.ts',
  'plugins/catalog-backend-module-tenancy/src/live/rollback.test.ts',
  'migrations/src/liveTraffic/liveTraffic.test.ts',
  'migrations/src/preflight/preflight.test.ts',
  'migrations/src/status/next.test.ts',
  'plugins/tenants/src/administration/sources/SourcesTab.test.tsx',
  'plugins/catalog-backend-module-tenant-engines/src/routes/routes.test.ts',
  'migrations/src/cli/cli.test.ts',
  'migrations/src/adopt/faults.test.ts',
  'migrations/src/preflight/login.test.ts',
  'migrations/src/phases/takenNames.test.ts',
  'migrations/src/phases/phase4_row_level_security/login.test.ts',
  'plugins/catalog-tenancy-node/src/replica/loss.test.ts',
  'plugins/mockup/src/entity/EntityMockups.test.tsx',
  'migrations/src/partitions/partitions.test.ts',
  'migrations/src/preflight/ownServer.test.ts',
  'migrations/src/adopt/logins.test.ts',
  'migrations/src/phases/phase2_backfill/backfill.test.ts',
  'plugins/catalog-backend-module-tenancy/src/replica/replica.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/leases/leases.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/config/moduleSchemas.test.ts',
  'migrations/src/adopt/quota.test.ts',
  'migrations/src/partitions/live.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/plugins/onePerTenant.test.ts',
  'plugins/catalog-tenancy-node/src/startup/CatalogAdoption.test.ts',
  'plugins/catalog-backend-module-tenancy/src/routes/deletion.test.ts',
  'migrations/src/cli/rollback.test.ts',
  'plugins/catalog-tenancy-node/src/replica/replica.test.ts',
  'migrations/src/phases/phase2_backfill/concurrency.test.ts',
  'migrations/src/phases/phase5_partitions/additions.test.ts',
  'migrations/src/adopt/unadopt.test.ts',
  'plugins/mockup-backend/src/database/outage.test.ts',
  'plugins/mockup-backend/src/http/files.test.ts',
  'plugins/mockup-backend/src/http/paging.test.ts',
  'plugins/mockup/src/components/LayoutView.test.tsx',
  'plugins/mockup-backend/src/database/migrations.test.ts',
  'migrations/src/adopt/settings.test.ts',
  'migrations/src/checks/adminPolicy.test.ts',
  'migrations/src/session/collation.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/plugins/sockets.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/sources/sources.test.ts',
  'plugins/catalog-tenancy-node/src/database/model.test.ts',
  'plugins/tenants/src/openTenant/createTenantFetchMiddleware.test.ts',
  'plugins/mockup/src/review/review.test.tsx',
  'plugins/tenants/src/administration/activity/ActivityTab.test.tsx',
  'plugins/tenants/src/catalog/catalog.test.tsx',
  'plugins/tenants/src/openTenant/AcceptInvitation.test.tsx',
  'packages/pages/src/Moment.test.tsx',
  'migrations/src/tenant/purge.test.ts',
  'plugins/mockup/src/list/templates.test.tsx',
  'plugins/catalog-backend-module-tenant-engines/src/reach/modules.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/config/pluginConfig.test.ts',
  'migrations/src/phases/phase5_partitions/swapLocks.test.ts',
  'plugins/catalog-tenancy-node/src/database/faults.test.ts',
  'migrations/src/rollback/dependents.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/work/pgbouncer.test.ts',
  'migrations/src/session/lockTexts.test.ts',
  'plugins/tenants/src/administration/tenant/UsageSection.test.tsx',
  'plugins/mockup/src/plugin.test.tsx',
  'plugins/mockup/src/list/files.test.tsx',
  'plugins/catalog-backend-module-tenant-engines/src/config/documents.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/config/EngineConfigs.test.ts',
  'plugins/catalog-backend-module-tenancy/src/authorization/policy.test.ts',
  'migrations/src/adopt/commands.test.ts',
  'plugins/mockup/src/editor/inspector/Inspector.test.tsx',
  'plugins/catalog-backend-module-tenancy/src/gate/principals.test.ts',
  'plugins/catalog-tenancy-node/src/doctor/doctorExamination.test.ts',
  'packages/app/src/signIn/TenantConnector.test.ts',
  'plugins/tenants-backend/src/http/client.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/config/features.test.ts',
  'plugins/mockup-backend/src/http/tenants.test.ts',
  'plugins/mockup-backend/src/database/startup.test.ts',
  'migrations/src/phases/phase5_partitions/15_search_tables/numbers.test.ts',
  'plugins/catalog-tenancy-node/src/database/pgbouncer.test.ts',
  'packages/app/src/pages/visitsApi.test.ts',
  'packages/pages/src/PageHeader.test.tsx',
  'migrations/src/phases/phase3_application/phase3.test.ts',
  'migrations/src/verify/verify.test.ts',
  'plugins/catalog-backend-module-tenancy/src/gate/sockets.test.ts',
  'plugins/tenants-backend/src/http/apply.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/config/validation.test.ts',
  'packages/pages/src/retry.test.tsx',
  'plugins/mockup/src/pages/home.test.tsx',
  'packages/pages/src/LeaveDialog.test.tsx',
  'migrations/src/session/MigrationSession.test.ts',
  'plugins/catalog-backend-module-tenant-engines/src/shares/SharedEntities.test.ts',
  'migrations/src/cli/connection.test.ts',
];

/** Of those a part of as many, which a seed chooses. */
const PARTS = 40;

/**
 * Which of the long files a run of all tests has, by `LONG_TESTS`: none without it, `all`,
 * or a fortieth, others for each text. Over many texts each is among them equally often.
 */
function chosenLongFiles(choice = process.env.LONG_TESTS) {
  if (!choice) {
    return [];
  }
  if (choice === 'all') {
    return LONG_FILES;
  }
  const rank = file =>
    createHash('sha256').update(`${choice}: ${file}`).digest('hex');
  return [...LONG_FILES]
    .sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
    .slice(0, Math.ceil(LONG_FILES.length / PARTS));
}

/** A filter of Jest's, which calls it once per workspace package. */
function leaveOutLongFiles(paths) {
  const chosen = new Set(chosenLongFiles());
  const leftOut = LONG_FILES.filter(file => !chosen.has(file));
  return {
    filtered: paths.filter(
      path => !leftOut.some(file => path.endsWith(`/${file}`)),
    ),
  };
}

module.exports = leaveOutLongFiles;

/** Jest calls it once per run. */
module.exports.setup = function sayWhatIsLeftOut() {
  const count = LONG_FILES.length - chosenLongFiles().length;
  if (count > 0) {
    // eslint-disable-next-line no-console
    console.error(
      `${count} test files that take long are left out: LONG_TESTS=all npm test runs them too`,
    );
  }
};

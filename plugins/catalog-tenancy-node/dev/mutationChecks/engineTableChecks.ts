import type { MutationCheck } from './MutationCheck';

const TABLES = 'plugins/catalog-backend-module-tenant-engines/src/tables';

/** What the tables of a tenant's engine have in common with those of the stock catalog. */
export const engineTableChecks: MutationCheck[] = [
  {
    name: "an index in the copy for a tenant's engine",
    edits: [
      {
        file: `${TABLES}/cloneSchema.ts`,
        find: '...indexes.map(({ definition }) => definition),',
        replace: '...indexes.slice(1).map(({ definition }) => definition),',
      },
    ],
    tests: [`${TABLES}/cloneSchema.test.ts`],
  },
  {
    name: "the view of one schema that upstream's migrations have",
    edits: [
      {
        file: `${TABLES}/upstreamMigrations.ts`,
        find: '  await hideOtherSchemas(session);',
        replace:
          '  if (pending.length > 1000) await hideOtherSchemas(session);',
      },
    ],
    tests: [`${TABLES}/upstreamMigrations.test.ts`],
  },
  {
    name: 'the triggers of a table that a migration of upstream has replaced',
    edits: [
      {
        file: `${TABLES}/upstreamMigrations.ts`,
        find: '        await options.afterEach?.({ name, isWhole: inTransaction });',
        replace: '',
      },
    ],
    tests: [`${TABLES}/upstreamMigrations.test.ts`],
  },
  {
    name: 'the bound of the time for which an upgrade waits for a lock',
    edits: [
      {
        file: `${TABLES}/TablesSession.ts`,
        find: '      await this.setLockTimeout(timeoutMs);',
        replace: '      await this.setLockTimeout(0);',
      },
    ],
    tests: [`${TABLES}/upstreamMigrations.test.ts`],
  },
  {
    name: 'the release of the lock that a killed migration of the default catalog left',
    edits: [
      {
        file: `${TABLES}/EngineTables.ts`,
        find: '(!isSame(all, done) || (await isLockedByUs(session, schema)))',
        replace: '!isSame(all, done)',
      },
    ],
    tests: [`${TABLES}/upstreamMigrations.test.ts`],
  },
];

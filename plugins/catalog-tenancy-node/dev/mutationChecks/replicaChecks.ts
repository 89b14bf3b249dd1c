import type { MutationCheck } from './MutationCheck';

const NODE = 'plugins/catalog-tenancy-node/src';
const MODULE = 'plugins/catalog-backend-module-tenancy/src';

/** What keeps answers of a read replica those of the tenant, and young enough. */
export const replicaChecks: MutationCheck[] = [
  {
    name: 'the check of the connections to a replica',
    edits: [
      {
        file: `${NODE}/replica/ReplicaWatch.ts`,
        find: '      await check(pool);',
        replace: '      if (!check) throw new Error();',
      },
    ],
    tests: [`${NODE}/replica/replica.test.ts`],
  },
  {
    name: 'the precondition of reads on a replica',
    edits: [
      {
        file: `${NODE}/replica/ReadReplica.ts`,
        find: '        fence: precondition(required),\n',
        replace: '',
      },
    ],
    tests: [`${NODE}/replica/loss.test.ts`],
  },
  {
    // Each of both tells a server that was promoted.
    name: 'the state and the branch of history of a replica in that precondition',
    edits: [
      {
        file: `${NODE}/replica/statements.ts`,
        find: 'pg_is_in_recovery() and pg_last_wal_replay_lsn()',
        replace: 'pg_last_wal_replay_lsn()',
      },
      {
        file: `${NODE}/replica/statements.ts`,
        find: 'and ${REPLAYED_TIMELINE} = ?::int',
        replace: 'and ?::int is not null',
      },
    ],
    tests: [`${NODE}/replica/loss.test.ts`],
  },
  {
    name: 'the place in the log of a replica in that precondition',
    edits: [
      {
        file: `${NODE}/replica/statements.ts`,
        find: 'pg_last_wal_replay_lsn() >= ?::pg_lsn',
        replace: '?::pg_lsn is not null',
      },
    ],
    tests: [`${NODE}/replica/loss.test.ts`],
  },
  {
    name: 'the server of a replica in that precondition',
    edits: [
      {
        file: `${NODE}/replica/statements.ts`,
        find: '(select system_identifier from pg_control_system()) = ?::bigint',
        replace: '?::bigint is not null',
      },
    ],
    tests: [`${NODE}/replica/loss.test.ts`],
  },
  {
    name: 'the branch of history of a replica in that precondition',
    edits: [
      {
        file: `${NODE}/replica/statements.ts`,
        find: 'and ${REPLAYED_TIMELINE} = ?::int',
        replace: 'and ?::int is not null',
      },
    ],
    tests: [`${NODE}/replica/loss.test.ts`],
  },
  {
    name: 'the bound on the age of what a replica answers',
    edits: [
      {
        file: `${NODE}/replica/Freshness.ts`,
        find: 'return performance.now() - this.#maxStalenessMs;',
        replace: 'return 0 * this.#maxStalenessMs;',
      },
    ],
    tests: [`${NODE}/replica/replica.test.ts`],
  },
  {
    name: 'the mark of a write, for reads of a replica',
    edits: [
      {
        file: `${NODE}/database/PooledTenantDatabase.ts`,
        find: 'const end = this.#replica?.writing(tenantId);',
        replace: 'const end = tenantId ? undefined : () => {};',
      },
    ],
    tests: [`${NODE}/replica/replica.test.ts`],
  },
  {
    name: 'the mark of what the administrator writes, for reads of a replica',
    edits: [
      {
        file: `${NODE}/database/AuditedAdminDatabase.ts`,
        find: 'const end = this.#replica?.writing();',
        replace: 'const end = this.#replica ? undefined : () => {};',
      },
    ],
    tests: [`${NODE}/replica/replica.test.ts`],
  },
  {
    name: 'the time until the end of a write, for reads of a replica',
    edits: [
      {
        file: `${NODE}/replica/Freshness.ts`,
        find: 'return writes?.underWay ? Infinity : writes?.endedAt ?? -Infinity;',
        replace: 'return writes?.endedAt ?? -Infinity;',
      },
    ],
    tests: [`${NODE}/replica/replica.test.ts`],
  },
  {
    name: 'the end of a write, for reads of a replica',
    edits: [
      {
        file: `${NODE}/replica/Freshness.ts`,
        find: 'writes.endedAt = performance.now();',
        replace: '',
      },
    ],
    tests: [`${NODE}/replica/replica.test.ts`],
  },
  {
    name: 'the mark of a write by a query that was said to read, for reads of a replica',
    edits: [
      {
        file: `${NODE}/database/PooledTenantDatabase.ts`,
        find: 'onWrite: () => replica.writing(tenantId)(),',
        replace: '',
      },
    ],
    tests: [`${NODE}/replica/replica.test.ts`],
  },
  {
    name: 'the mark of what the stock catalog writes, for reads of a replica',
    edits: [
      {
        file: `${MODULE}/replica/markWrites.ts`,
        find: 'if (!READING.includes(req.method)) {',
        replace: 'if (!READING) {',
      },
    ],
    tests: [`${MODULE}/replica/replica.test.ts`],
  },
];

import type { MutationCheck } from './MutationCheck';

const NODE = 'plugins/catalog-tenancy-node/src';
const SHARDING = 'migrations/src/sharding';
const tests = [`${NODE}/database/nodes.test.ts`];

/** What keeps tenants apart on the nodes of Citus. Only a cluster can notice it. */
export const citusChecks: MutationCheck[] = [
  {
    name: 'the revocation of set_config on the nodes of Citus',
    edits: [
      {
        file: `${SHARDING}/distribute.ts`,
        find: "    'revoke execute on function pg_catalog.set_config(text, text, boolean) from public',",
        replace: "    'select 1',",
      },
      {
        file: `${SHARDING}/shards.ts`,
        find: "   where has_function_privilege('APP', 'pg_catalog.set_config(text,text,boolean)', 'execute')",
        replace: '   where false',
      },
    ],
    tests,
  },
  {
    name: 'the revocation of functions that send statements to the nodes of Citus',
    edits: [
      {
        file: `${SHARDING}/distribute.ts`,
        find: "    execute format('revoke execute on function %s from public', f);\n",
        replace: '',
      },
      {
        file: `${SHARDING}/shards.ts`,
        find: "     and has_function_privilege('APP', p.oid, 'execute')",
        replace: '     and false',
      },
    ],
    tests,
  },
  {
    name: 'the tenant of a transaction on the nodes of Citus',
    edits: [
      {
        file: `${NODE}/pool/context.ts`,
        find: "set('citus.propagate_set_commands', `'local'`)",
        replace: "set('citus.propagate_set_commands', `'none'`)",
      },
    ],
    tests,
  },
  {
    name: 'the check of the policies of shards at the start',
    edits: [
      {
        file: `${SHARDING}/shards.ts`,
        find: '    from shard where policies <> 1 or same is not true',
        replace: '    from shard where false',
      },
    ],
    tests,
  },
  {
    name: 'the doubt about a change whose node Citus lost as it committed',
    edits: [
      {
        file: `${NODE}/pool/errors.ts`,
        find: "  if (sqlState === 'XX000' && LOST_AT_COMMIT.test(error.message)) {\n    return lostConnection(phase === 'commit');\n  }\n",
        replace: '',
      },
    ],
    tests: [...tests, `${NODE}/pool/errors.test.ts`],
  },
  {
    name: 'the refusal of an online move from nodes of Citus that confirm commits too early',
    edits: [
      {
        file: `${SHARDING}/moveTenant.ts`,
        find: '    await refuseAsynchronousCommits(read, place);\n',
        replace: '',
      },
    ],
    tests: [`${SHARDING}/sharding.test.ts`],
  },
  {
    name: 'the copy of the registry to nodes that are added to Citus',
    edits: [
      {
        file: `${SHARDING}/distribute.ts`,
        find: "`select replicate_reference_tables('block_writes')`",
        replace: '`select 1`',
      },
    ],
    tests: [`${SHARDING}/sharding.test.ts`],
  },
];

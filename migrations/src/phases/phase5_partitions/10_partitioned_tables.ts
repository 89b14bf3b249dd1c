import { dropFenceFunction, FENCE_FUNCTION } from '../../copy/fence';
import type { Executor } from '../../engine/Executor';
import type { Step } from '../../engine/Step';
import {
  archiveName,
  catchAllPartition,
  defaultTenantPartition,
  partitionedName,
  storageParameters,
  waitingName,
} from '../../schema/partitions';
import { tenantPolicyStatements } from '../../schema/policies';
import { ownerStatement } from '../../roles';
import { oneTenantCheck, TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { LAYOUT } from '../../layout';
import { dropOldKeys } from './70_swap';
import { revokeAllStatement } from '../../schema/grants';
import { readCreatedCatalog } from '../../schema/createdCatalog';
import { createTablesStatements, partitionStatements } from './createTables';

/**
 * Creates the partitioned tables, empty: under their own names and complete where there was no
 * catalog, and otherwise without indexes beside the tables in use. Their columns then have the
 * order of those, so `select *` returns the same after the swap.
 */
export const partitionedTables: Step = {
  name: '5_10_partitioned_tables',
  title: 'Create the partitioned tables',

  creates: [
    ...TENANT_TABLES.flatMap(table => [
      partitionedName(table),
      archiveName(table),
      defaultTenantPartition(table),
      catchAllPartition(table),
      // As far as they are created with the tables.
      ...LAYOUT[table].indexes.map(({ name }) => name),
    ]),
    FENCE_FUNCTION,
  ],

  async up(context) {
    const { executor } = context;
    const transactions = (await readCreatedCatalog(context))
      ? [
          {
            title: `Create ${TENANT_TABLES.join(', ')}`,
            statements: await createTablesStatements(executor),
          },
        ]
      : await besideThoseInUse(executor);
    for (const transaction of transactions) {
      await executor.transaction({
        ...transaction,
        locks:
          'New tables. Their foreign key takes SHARE ROW EXCLUSIVE on tenants, for a change of ' +
          'the catalog: a change of the registry waits behind it.',
        tables: ['tenants'],
        mode: 'share row exclusive',
      });
    }
  },

  async down(context) {
    const { executor } = context;
    await dropOldKeys(context);
    await executor.transaction({
      title: 'Drop the partitioned tables',
      locks:
        'ACCESS EXCLUSIVE on tenants, which they reference, for a change of the catalog, and on ' +
        'tables that are not in use.',
      tables: ['tenants'],
      statements: [
        // Under whichever name they wait.
        `drop table if exists ${[...TENANT_TABLES]
          .reverse()
          .flatMap(table => [partitionedName(table), archiveName(table)])
          .join(', ')}`,
        // A swap that was killed and undone leaves the fence on these tables.
        dropFenceFunction,
        context.state.forget('swap'),
      ],
    });
  },
};

/** The partitioned tables, without indexes, beside those in use. */
async function besideThoseInUse(
  executor: Executor,
): Promise<{ title: string; statements: string[] }[]> {
  const transactions: { title: string; statements: string[] }[] = [];
  for (const table of TENANT_TABLES) {
    // Those of an earlier swap, if its undo was killed.
    const name = await waitingName(executor, table);
    const storage = await storageParameters(executor, table);
    transactions.push({
      title: `Create ${name} and its partitions`,
      statements: [
        createTable(table, name),
        // The check that keeps the table in use to one tenant is not copied.
        `alter table ${name} drop constraint if exists ${oneTenantCheck(
          table,
        )}`,
        ...defaults(table, name),
        ...tenantPolicyStatements(name, table),
        ownerStatement(name),
        // The swap gives it the grants of the table in use.
        revokeAllStatement(name),
        ...partitionStatements(table, name, storage),
      ],
    });
  }
  return transactions;
}

function createTable(table: TenantTable, name: string): string {
  const key =
    table === 'entities'
      ? `,
  constraint ${partitionedName(table)}_pkey primary key (tenant_id, entity_id)`
      : '';
  return `create table if not exists ${name} (
  like ${table} including all excluding indexes${key},
  -- Now, while it is empty: to attach the key of a partition later takes ACCESS EXCLUSIVE on tenants.
  constraint ${table}_tenant_id_fkey foreign key (tenant_id) references tenants (tenant_id) on delete cascade
) partition by list (tenant_id)`;
}

/** The defaults of the specification, in place of those of the single-tenant table. */
function defaults(table: TenantTable, name: string): string[] {
  return Object.entries(LAYOUT[table].columns).flatMap(
    ([column, { default: value }]) =>
      value === undefined
        ? []
        : [`alter table ${name} alter column ${column} set default ${value}`],
  );
}

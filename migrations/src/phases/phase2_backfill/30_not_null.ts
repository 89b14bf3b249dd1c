import type { Step, StepContext } from '../../engine/Step';
import { dropNotNull, setNotNull } from '../../schema/changes';
import { waitForOlderSnapshots } from '../../engine/olderTransactions';
import { TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { checkCounts } from './checkCounts';

/** NOT NULL on tenant_id. */
export const notNull: Step = {
  name: '2_30_not_null',
  title: 'Set tenant_id NOT NULL',
  live: true,

  async up(context) {
    // Even before it is validated, the constraint refuses updates of a row that
    // violates it.
    await checkCounts(context);
    // A REPEATABLE READ transaction with an older snapshot still sees a row without a
    // tenant: its update would violate the constraint before PostgreSQL finds the
    // concurrent update. And without the default tenant in its snapshot, its inserts would
    // violate the foreign keys of the next step.
    await waitForOlderSnapshots(context, 'they see rows without a tenant');
    for (const table of TENANT_TABLES) {
      if (!(await isNotNull(context, table))) {
        await setNotNull(context, tenantColumn(table));
      }
    }
  },

  async down(context) {
    for (const table of TENANT_TABLES) {
      await dropNotNull(context, tenantColumn(table));
    }
  },
};

function tenantColumn(table: TenantTable) {
  return { table, column: 'tenant_id', proof: proof(table) };
}

async function isNotNull(
  { executor }: StepContext,
  table: TenantTable,
): Promise<boolean> {
  const rows = await executor.read(
    `select from pg_attribute
      where attrelid = to_regclass($1) and attname = 'tenant_id' and attnotnull`,
    [table],
  );
  return rows.length > 0;
}

function proof(table: TenantTable): string {
  return `${table}_tenant_id_check`;
}

import type { Step, StepContext } from '../../engine/Step';
import { addConstraint, dropConstraint } from '../../schema/changes';
import { waitForOlderSnapshots } from '../../engine/olderTransactions';
import { TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { checkCounts } from './checkCounts';

/**
 * NOT NULL on tenant_id.
 *
 * SET NOT NULL alone scans the table under ACCESS EXCLUSIVE. A check constraint that was
 * validated under a weaker lock makes it skip the scan, and is dropped after it.
 */
export const notNull: Step = {
  name: '2_30_not_null',
  title: 'Set tenant_id NOT NULL',

  creates: () =>
    TENANT_TABLES.map(table => ({
      kind: 'constraint',
      name: proof(table),
      table,
    })),

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
        await setNotNull(context, table);
      }
    }
  },

  async down(context) {
    for (const table of TENANT_TABLES) {
      await context.executor.transaction({
        title: `Drop NOT NULL of ${table}.tenant_id`,
        locks: catalogOnly(table),
        tables: [table],
        statements: [
          `alter table ${table} alter column tenant_id drop not null`,
        ],
      });
      // Left behind by a command that was killed in `up`.
      await dropConstraint(context, {
        name: proof(table),
        table,
        locks: catalogOnly(table),
      });
    }
  },
};

async function setNotNull(
  context: StepContext,
  table: TenantTable,
): Promise<void> {
  await addConstraint(context, {
    name: proof(table),
    table,
    definition: 'check (tenant_id is not null)',
    locks: catalogOnly(table),
  });
  await context.executor.transaction({
    title: `Set ${table}.tenant_id NOT NULL`,
    locks: `${catalogOnly(table)} The validated constraint proves them.`,
    tables: [table],
    statements: [
      `alter table ${table} alter column tenant_id set not null`,
      `alter table ${table} drop constraint if exists ${proof(table)}`,
    ],
  });
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

function catalogOnly(table: TenantTable): string {
  return `ACCESS EXCLUSIVE on ${table}, for a change of the catalog: no row is read.`;
}

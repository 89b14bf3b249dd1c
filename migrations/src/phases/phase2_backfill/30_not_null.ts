import type { Step, StepContext } from '../../engine/Step';
import { addConstraint, dropConstraint } from '../../schema/changes';
import { waitForOlderSnapshots } from '../../engine/olderTransactions';
import { TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { checkCounts } from './checkCounts';

/**
 * NOT NULL on tenant_id.
 *
 * SET NOT NULL by itself reads the whole table under a lock that stops everybody.
 * A constraint that was validated before proves the same, and is dropped once it
 * has served.
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
    // From the moment that a constraint stands, an application can no longer change
    // a row that breaks it.
    await checkCounts(context);
    // A REPEATABLE READ transaction that still sees a row without its tenant would
    // break the constraint by an update, before PostgreSQL finds that the row has
    // changed; and one that does not see the default tenant could not insert a row
    // of it, since foreign keys (the next step) are checked in its snapshot.
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
        statements: [
          `alter table ${table} alter column tenant_id drop not null`,
        ],
      });
      // A command that was killed half-way up leaves it.
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

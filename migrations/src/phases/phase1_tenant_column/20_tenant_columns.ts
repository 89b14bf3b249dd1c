import type { Step } from '../../engine/Step';
import { catalogOnly } from '../../schema/changes';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../../schema/tables';

/**
 * The nullable column, null in existing rows until phase 2 fills them.
 *
 * Until phase 4, applications insert rows without a tenant: the default gives them one.
 * It is set after the column is added, because ADD COLUMN with a default would also give
 * it to existing rows.
 */
export const tenantColumns: Step = {
  name: '1_20_tenant_columns',
  title: 'Add the column tenant_id to entities, relations and refresh_state',
  live: true,

  async up({ executor }) {
    for (const table of TENANT_TABLES) {
      await executor.transaction({
        title: `Add the column tenant_id to ${table}`,
        locks: catalogOnly(table),
        tables: [table],
        statements: [
          `alter table ${table} add column if not exists tenant_id uuid`,
          `alter table ${table} alter column tenant_id set default '${DEFAULT_TENANT_ID}'`,
          `comment on column ${table}.tenant_id is 'The tenant that the row belongs to'`,
        ],
      });
    }
  },

  async down({ executor }) {
    for (const table of TENANT_TABLES) {
      await executor.transaction({
        title: `Drop the column tenant_id of ${table}`,
        locks: catalogOnly(table),
        tables: [table],
        statements: [`alter table ${table} drop column if exists tenant_id`],
      });
    }
  },
};

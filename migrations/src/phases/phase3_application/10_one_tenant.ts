import { addConstraint, dropConstraint } from '../../schema/changes';
import type { Step } from '../../engine/Step';
import {
  DEFAULT_TENANT_ID,
  oneTenantCheck,
  TENANT_TABLES,
} from '../../schema/tables';

/**
 * Only the default tenant can have rows until the swap: an entity reference is unique
 * across tenants in these tables.
 *
 * With this check the existing keys imply those on tenant and entity. Additional unique
 * indexes on these would fail an upsert that names one key as its conflict target and
 * meets a concurrent row at the other.
 */
export const oneTenant: Step = {
  name: '3_10_one_tenant',
  title: 'Keep the tables to the default tenant until the swap',

  creates: () =>
    TENANT_TABLES.map(table => ({
      kind: 'constraint',
      name: oneTenantCheck(table),
      table,
    })),

  async up(context) {
    for (const table of TENANT_TABLES) {
      await addConstraint(context, {
        name: oneTenantCheck(table),
        table,
        definition: `check (tenant_id = '${DEFAULT_TENANT_ID}')`,
        locks: catalogOnly(table),
      });
    }
  },

  async down(context) {
    for (const table of TENANT_TABLES) {
      await dropConstraint(context, {
        name: oneTenantCheck(table),
        table,
        locks: catalogOnly(table),
      });
    }
  },
};

function catalogOnly(table: string): string {
  return `ACCESS EXCLUSIVE on ${table}, for a change of the catalog: no row is read.`;
}

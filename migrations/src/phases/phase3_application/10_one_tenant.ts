import { addConstraint, dropConstraint } from '../../schema/changes';
import type { Step } from '../../engine/Step';
import {
  DEFAULT_TENANT_ID,
  oneTenantCheck,
  TENANT_TABLES,
} from '../../schema/tables';

/**
 * All rows are the default tenant's for as long as the tables of before are in
 * use: an entity reference is unique in them, whoever it belongs to.
 *
 * With it the keys that there are imply those on tenant and entity. Unique indexes
 * on those beside them would make an upsert fail that names one key as its
 * conflict and meets another session's row at the other.
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

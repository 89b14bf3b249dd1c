import type { Step } from '../../engine/Step';
import { addConstraint, dropConstraint } from '../../schema/changes';
import { TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';

/** The foreign keys to tenants (specification, B.2 and B.3). */
export const foreignKeys: Step = {
  name: '2_40_foreign_keys',
  title: 'Add the foreign keys to tenants',

  creates: () =>
    TENANT_TABLES.map(table => ({
      kind: 'constraint',
      name: foreignKey(table),
      table,
    })),

  async up(context) {
    for (const table of TENANT_TABLES) {
      await addConstraint(context, {
        name: foreignKey(table),
        table,
        references: 'tenants',
        definition:
          'foreign key (tenant_id) references tenants (tenant_id) on delete cascade',
        locks:
          `SHARE ROW EXCLUSIVE on ${table} and tenants, for a change of the catalog: ` +
          'writers wait for it, readers do not, and no row is read.',
      });
    }
  },

  async down(context) {
    for (const table of TENANT_TABLES) {
      await dropConstraint(context, {
        name: foreignKey(table),
        table,
        references: 'tenants',
        locks: `ACCESS EXCLUSIVE on ${table} and tenants, for a change of the catalog.`,
      });
    }
  },
};

function foreignKey(table: TenantTable): string {
  return `${table}_tenant_id_fkey`;
}

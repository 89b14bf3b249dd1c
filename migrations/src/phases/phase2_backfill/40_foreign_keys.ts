import { constraintStep } from '../../schema/changes';
import { TENANT_TABLES } from '../../schema/tables';

/** The foreign keys to tenants (specification, B.2 and B.3). */
export const foreignKeys = constraintStep(
  {
    name: '2_40_foreign_keys',
    title: 'Add the foreign keys to tenants',
  },
  TENANT_TABLES.map(table => ({
    name: `${table}_tenant_id_fkey`,
    table,
    references: 'tenants',
    definition:
      'foreign key (tenant_id) references tenants (tenant_id) on delete cascade',
  })),
);

import type { Step } from '../../engine/Step';
import { readSqlFile } from '../../sqlFile';

/** The registry of tenants (specification, B.1). */
export const tenantsTable: Step = {
  name: '1_10_tenants_table',
  title: 'Create the table tenants',

  creates: [
    'tenants',
    'tenants_pkey',
    'tenants_tenant_slug_key',
    'tenants_active_slug_idx',
  ],

  async up({ executor }) {
    await executor.transaction({
      title: 'Create the table tenants',
      locks: 'A new table, which no session uses yet.',
      statements: [readSqlFile('tenants')],
    });
  },

  async down({ executor }) {
    await executor.transaction({
      title: 'Drop the table tenants',
      locks:
        'ACCESS EXCLUSIVE on tenants, for a change of the catalog. Nothing ' +
        'references it any more.',
      tables: ['tenants'],
      statements: ['drop table if exists tenants'],
    });
  },
};

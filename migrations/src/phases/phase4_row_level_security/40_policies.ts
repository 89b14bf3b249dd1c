import type { Step } from '../../engine/Step';
import { catalogOnly } from '../../schema/changes';
import {
  CREATE_TENANT_REQUIRED,
  dropTenantPolicyStatements,
  TENANT_REQUIRED,
  tenantPolicyStatements,
} from '../../schema/policies';
import { ADMIN_ROLE, APP_ROLE } from '../../roles';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../../schema/tables';
import { existingTables } from '../../schema/lookups';

/**
 * Enables row-level security, and drops the default of tenant_id: every writer sets its
 * tenant.
 */
export const policies: Step = {
  name: '4_40_policies',
  title: 'Keep the rows of tenants apart',

  creates: [TENANT_REQUIRED],

  async up({ executor }) {
    await executor.transaction({
      title: 'Create the function that refuses to work without a tenant',
      locks: 'A new function, which no session uses yet.',
      statements: [
        CREATE_TENANT_REQUIRED,
        `alter function ${TENANT_REQUIRED} owner to ${ADMIN_ROLE}`,
        `grant execute on function ${TENANT_REQUIRED} to ${APP_ROLE}`,
      ],
    });
    for (const table of await existingTables(executor, TENANT_TABLES)) {
      await executor.transaction({
        title: `Enable row-level security on ${table}`,
        locks: catalogOnly(table),
        tables: [table],
        statements: [
          ...tenantPolicyStatements(table),
          `alter table ${table} alter column tenant_id drop default`,
        ],
      });
    }
  },

  async down({ executor }) {
    for (const table of TENANT_TABLES) {
      await executor.transaction({
        title: `Disable row-level security on ${table}`,
        locks: catalogOnly(table),
        tables: [table],
        statements: [
          `alter table ${table} alter column tenant_id set default '${DEFAULT_TENANT_ID}'`,
          ...dropTenantPolicyStatements(table),
        ],
      });
    }
    await executor.transaction({
      title: 'Drop the function that refuses to work without a tenant',
      locks: 'None on tables: no policy calls the function any more.',
      statements: [`drop function if exists ${TENANT_REQUIRED}`],
    });
  },
};

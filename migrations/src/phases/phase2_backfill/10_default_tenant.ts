import type { Step } from '../../engine/Step';
import { escapeLiteral } from '../../sql';
import { DEFAULT_TENANT_ID, DEFAULT_TENANT_SLUG } from '../../schema/tables';

/**
 * The tenant of all existing rows. An existing row in tenants is kept: the operator may
 * have renamed the tenant.
 */
export const defaultTenant: Step = {
  name: '2_10_default_tenant',
  title: 'Insert the default tenant',
  empties: ['tenants'],

  async up({ executor, settings }) {
    await executor.transaction({
      title: 'Insert the default tenant',
      locks: 'One new row, which no session waits for.',
      statements: [
        `insert into tenants (tenant_id, tenant_slug, tenant_name)
values ('${DEFAULT_TENANT_ID}', '${DEFAULT_TENANT_SLUG}', ` +
          `${escapeLiteral(settings.defaultTenantName)})
on conflict (tenant_id) do nothing`,
      ],
    });
  },

  async down({ executor }) {
    await executor.transaction({
      title: 'Delete the default tenant',
      locks: 'One row, which no other row references any more.',
      statements: [
        `delete from tenants where tenant_id = '${DEFAULT_TENANT_ID}'`,
      ],
    });
  },
};

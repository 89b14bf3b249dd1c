import { RefusedError } from '../../errors';
import type { Step, StepContext } from '../../engine/Step';
import { relationExists } from '../../schema/lookups';
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

  async up(context) {
    await refuseTakenSlug(context);
    const { executor, settings } = context;
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

async function refuseTakenSlug({ executor }: StepContext): Promise<void> {
  if (!(await relationExists(executor, 'tenants'))) {
    return;
  }
  const [other] = await executor.read<{ id: string }>(
    `select tenant_id as id from tenants
      where tenant_slug = $1 and tenant_id <> $2`,
    [DEFAULT_TENANT_SLUG, DEFAULT_TENANT_ID],
  );
  if (other) {
    throw new RefusedError(
      `The slug "${DEFAULT_TENANT_SLUG}" belongs to the tenant ${other.id}, and the ` +
        `default tenant, ${DEFAULT_TENANT_ID}, needs it. Give that tenant another slug.`,
    );
  }
}

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

/** The name of the default tenant; undefined before phase 2. */
export async function readDefaultTenantName({
  executor,
}: Pick<StepContext, 'executor'>): Promise<string | undefined> {
  if (!(await relationExists(executor, 'tenants'))) {
    return undefined;
  }
  const [tenant] = await executor.read<{ name: string }>(
    'select tenant_name as name from tenants where tenant_id = $1',
    [DEFAULT_TENANT_ID],
  );
  return tenant?.name;
}

/** Renames the default tenant, after any phase. */
export async function renameDefaultTenant(
  { executor }: Pick<StepContext, 'executor'>,
  name: string,
): Promise<void> {
  await executor.transaction({
    title: 'Rename the default tenant',
    locks: 'One row, which requests only read.',
    statements: [
      `update tenants set tenant_name = ${escapeLiteral(
        name,
      )}, updated_at = now()
 where tenant_id = '${DEFAULT_TENANT_ID}'`,
    ],
  });
}

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

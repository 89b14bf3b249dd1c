import type { LoggerService } from '@backstage/backend-plugin-api';
import type { TenancyConfig } from '../config/readTenancyConfig';
import type { TenancyPool } from '../pool/TenancyPool';
import { DEFAULT_TENANT_ID } from '../tenants/Tenant';

// The most slugs in one line of the log.
const MOST_SLUGS = 5;

/** Warns of settings and tenants whose membership an operator may not expect. */
export async function warnOfMembership(
  pool: TenancyPool,
  { membership }: TenancyConfig,
  logger: LoggerService,
): Promise<void> {
  if (membership === 'open') {
    logger.warn(
      'tenancy.membership is open: every signed-in user enters every tenant. Set it to ' +
        'required once the members of each tenant are entered.',
    );
    return;
  }
  const empty = await pool.query<{ slug: string; total: string }>(knex =>
    knex('tenants')
      .select({ slug: 'tenant_slug' }, knex.raw('count(*) over () as total'))
      .whereNull('deleted_at')
      .whereNot('tenant_id', DEFAULT_TENANT_ID)
      .whereNotExists(
        knex('tenant_members')
          .select(knex.raw('1'))
          .whereRaw('tenant_members.tenant_id = tenants.tenant_id'),
      )
      .orderByRaw('tenant_slug collate "C"')
      .limit(MOST_SLUGS),
  );
  if (empty.length > 0) {
    const total = Number(empty[0].total);
    const named = empty.map(({ slug }) => slug).join(', ');
    logger.warn(
      `${total} ${
        total === 1 ? 'tenant has' : 'tenants have'
      } no members (${named}${
        total > empty.length ? ', …' : ''
      }): only administrators in tenancy.admins and tokens of the tenant may enter. ` +
        'Add members with PUT /api/tenants/<slug>/members/<principal>, or set ' +
        'tenancy.membership to open meanwhile.',
    );
  }
}

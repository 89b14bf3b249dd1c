import { ConflictError } from '@backstage/errors';
import type { TenantTransaction } from '../../database';
import { DEFAULT_TENANT_ID } from '../../tenants/Tenant';

/**
 * Refuses a mutation of the default tenant where it is the engine of an adopted
 * catalog that writes its entities. The engine would neither know of what a mutation
 * adds, nor leave what it changes.
 *
 * A catalog that is adopted has a table of what could not be carried. An adoption that
 * begins at this moment replaces what is there.
 *
 * @throws `ConflictError`
 */
export async function refuseAdopted(
  transaction: TenantTransaction,
): Promise<void> {
  const { knex, tenantId } = transaction;
  if (tenantId !== DEFAULT_TENANT_ID) {
    return;
  }
  const [{ adopted }] = await transaction.query<{ adopted: boolean }>(
    knex.raw(`select to_regclass('adoption_faults') is not null as adopted`),
  );
  if (adopted) {
    throw new ConflictError(
      'The entities of the default tenant are those of the catalog that was adopted: ' +
        'its engine writes them, and nobody else can',
    );
  }
}

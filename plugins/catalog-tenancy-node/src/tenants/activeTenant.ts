import { NotFoundError } from '@backstage/errors';
import type { Knex } from 'knex';
import { setChangedTenant } from '../audit/auditedChange';
import type { AdminTransaction } from '../database/AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';
import { isTenantSlug } from './Tenant';

/** A tenant of the registry that is not deleted. */
export interface ActiveTenantRow {
  tenant_id: string;
  tenant_slug: string;
  tenant_name: string;
  deleted_at: null;
}

/** Identifies a tenant by the slug of a request or the id of a row. */
export type TenantKey = { tenant_slug: string } | { tenant_id: string };

/** @throws NotFoundError if there is no such tenant, or it is deleted */
export async function findActiveTenant(
  pool: Pick<TenancyPool, 'query'>,
  key: TenantKey,
): Promise<ActiveTenantRow> {
  return activeOf(key, statement => pool.query(statement));
}

/**
 * Finds a tenant and locks its row until the commit (FOR NO KEY UPDATE): changes of one tenant
 * are serialized, and it is not deleted meanwhile. The lock does not conflict with the FOR KEY
 * SHARE of foreign keys, so writers of the tenant's rows do not wait.
 *
 * @throws NotFoundError as {@link findActiveTenant}
 */
export async function lockActiveTenant(
  transaction: AdminTransaction,
  key: TenantKey,
): Promise<ActiveTenantRow> {
  const tenant = await activeOf(key, statement =>
    transaction.query(statement(transaction.knex).forNoKeyUpdate()),
  );
  setChangedTenant(tenant);
  return tenant;
}

/**
 * The id of a tenant, even if deleted.
 *
 * @throws NotFoundError if there is no such tenant
 */
export async function tenantIdOf(
  pool: Pick<TenancyPool, 'query'>,
  tenantSlug: string,
): Promise<string> {
  const [tenant] = isTenantSlug(tenantSlug)
    ? await pool.query<{ tenant_id: string }>(knex =>
        knex('tenants').select('tenant_id').where('tenant_slug', tenantSlug),
      )
    : [];
  if (!tenant) {
    throw missingError(tenantSlug);
  }
  return tenant.tenant_id;
}

/** @param tenant - a deleted one, if there is one */
export function missingError(given: string, tenant?: object): NotFoundError {
  const name = given.slice(0, 80);
  return new NotFoundError(
    tenant
      ? `The tenant '${name}' is deleted. It can be restored`
      : `No tenant with the slug '${name}'`,
  );
}

type Row = Omit<ActiveTenantRow, 'deleted_at'> & { deleted_at: Date | null };

async function activeOf(
  key: TenantKey,
  read: (statement: (knex: Knex) => Knex.QueryBuilder) => Promise<Row[]>,
): Promise<ActiveTenantRow> {
  const isPossible = !('tenant_slug' in key) || isTenantSlug(key.tenant_slug);
  const [row] = isPossible
    ? await read(knex =>
        knex('tenants')
          .select('tenant_id', 'tenant_slug', 'tenant_name', 'deleted_at')
          .where(key),
      )
    : [];
  if (!row || row.deleted_at) {
    throw missingError(row?.tenant_slug ?? Object.values(key)[0], row);
  }
  return { ...row, deleted_at: null };
}

import { createHash } from 'node:crypto';
import type { Executor } from '../engine/Executor';
import { RefusedError } from '../errors';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import type { TenantTable } from '../schema/tables';

/** The tenant whose rows move. */
export interface Tenant {
  id: string;
  slug: string;
  isDeleted: boolean;
}

// PostgreSQL truncates longer names without an error.
const LONGEST_SLUG = 63 - 'refresh_state_tenant_'.length;
const HASH_LENGTH = 10;

/**
 * The name of a tenant's partition. No two slugs share one: a slug has no `_`, and
 * no name that is not shortened has the `$` in front of the hash.
 */
export function tenantPartition(table: TenantTable, slug: string): string {
  const hash = createHash('sha256').update(slug).digest('hex');
  const name =
    slug.length <= LONGEST_SLUG
      ? slug
      : `${slug.slice(0, LONGEST_SLUG - HASH_LENGTH - 1)}$${hash.slice(
          0,
          HASH_LENGTH,
        )}`;
  return `${table}_tenant_${name.replace(/-/g, '_')}`;
}

/**
 * The tenant of a slug, deleted or not.
 *
 * @throws {@link RefusedError} if there is none, or if it is the default one
 */
export async function findTenant(
  executor: Executor,
  slug: string,
): Promise<Tenant> {
  const [found] = await executor.read<Tenant>(
    `select tenant_id as id, tenant_slug as slug, deleted_at is not null as "isDeleted"
       from tenants where tenant_slug = $1`,
    [slug],
  );
  if (!found) {
    throw new RefusedError(
      `There is no tenant "${slug}". Give the tenant_slug of one in the table tenants.`,
    );
  }
  if (found.id === DEFAULT_TENANT_ID) {
    throw new RefusedError(
      `The tenant "${slug}" is the default one, whose partition phase 5 creates.`,
    );
  }
  return found;
}

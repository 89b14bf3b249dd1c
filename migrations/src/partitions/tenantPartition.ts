import { createHash } from 'node:crypto';
import type { TenantTable } from '../schema/tables';

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

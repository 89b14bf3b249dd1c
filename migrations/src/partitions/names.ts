import { createHash } from 'node:crypto';
import type { ChangeLog } from '../copy/changeLog';
import { catchAllPartition } from '../schema/partitions';
import type { TenantTable } from '../schema/tables';

/** The log of the changes of the tenant that is being given a partition. */
export const PARTITION_LOG: ChangeLog = {
  table: 'tenancy_partition_log',
  trigger: 'tenancy_partition_log',
  functions: 'tenancy_partition_log',
  replay: 'tenancy_replay_partition',
};

// PostgreSQL cuts longer names without a word.
const LONGEST_NAME = 63;
const LONGEST_SLUG = LONGEST_NAME - 'refresh_state_tenant_'.length;
const HASH_LENGTH = 10;

/**
 * The name of a tenant's partition. No two slugs share one: a slug has no `_`, and
 * no name that is not shortened has the `$` in front of the hash.
 */
export function tenantPartition(table: TenantTable, slug: string): string {
  const name =
    slug.length <= LONGEST_SLUG
      ? slug
      : `${slug.slice(0, LONGEST_SLUG - HASH_LENGTH - 1)}$${hashOf(slug)}`;
  return `${table}_tenant_${name.replace(/-/g, '_')}`;
}

/** The name that an index of the catch-all partition has on a tenant's. */
export function indexName(
  table: TenantTable,
  partition: string,
  index: string,
): string {
  const shared = catchAllPartition(table);
  const name = index.startsWith(`${shared}_`)
    ? partition + index.slice(shared.length)
    : `${partition}_${index}`;
  return name.length <= LONGEST_NAME
    ? name
    : `${name.slice(0, LONGEST_NAME - HASH_LENGTH - 1)}$${hashOf(name)}`;
}

/** The check that spares ATTACH PARTITION a look at every row. */
export function tenantCheck(table: TenantTable): string {
  return `${table}_one_tenant_check`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);
}

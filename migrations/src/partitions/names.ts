import { createHash } from 'node:crypto';
import type { ChangeLog } from '../copy/changeLog';
import { catchAllPartition } from '../schema/partitions';
import type { TenantTable } from '../schema/tables';

/** The log of the changes of the partitions that a move copies. */
export const PARTITION_LOG: ChangeLog = {
  table: 'tenancy_partition_log',
  trigger: 'tenancy_partition_log',
  functions: 'tenancy_partition_log',
  replay: 'tenancy_replay_partition',
};

/** The check constraint of a copy, by which ATTACH PARTITION skips its scan of the rows. */
export const ROWS_CHECK = 'tenancy_partition_rows';

/**
 * The policy that hides all rows: those of a copy from every role, and those of the tables
 * in use within the transaction that puts the copies in their place.
 */
export const UNSEEN_POLICY = 'tenancy_partition_unseen';

// PostgreSQL truncates longer names without an error.
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

/** The name of the copy that will replace the catch-all partition. */
export function nextCatchAll(table: TenantTable): string {
  return `${catchAllPartition(table)}_next`;
}

/** The name of a replaced catch-all partition, until it is dropped. */
export function lastCatchAll(table: TenantTable): string {
  return `${catchAllPartition(table)}_last`;
}

/** The name that an index of the catch-all partition has on a copy. */
export function indexName(
  table: TenantTable,
  partition: string,
  index: string,
): string {
  const shared = catchAllPartition(table);
  const name = index.startsWith(`${shared}_`)
    ? partition + index.slice(shared.length)
    : `${partition}_${index}`;
  return Buffer.byteLength(name) <= LONGEST_NAME
    ? name
    : `${beginningOf(name)}$${hashOf(name)}`;
}

/** As many characters as leave room for the hash: PostgreSQL counts bytes. */
function beginningOf(name: string): string {
  let beginning = name;
  while (Buffer.byteLength(beginning) > LONGEST_NAME - HASH_LENGTH - 1) {
    beginning = [...beginning].slice(0, -1).join('');
  }
  return beginning;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);
}

import { indexStep } from '../../schema/changes';
import { TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';

/** The index on the rows of a table that have no tenant yet. */
function temporaryIndex(table: TenantTable): string {
  return `${table}_without_tenant_idx`;
}

/**
 * The temporary indexes of the backfill.
 *
 * They cover rows without a tenant only. The backfill adds no entries to them, unlike to
 * an index on all of tenant_id, and leaves them empty.
 */
export const temporaryIndexes = indexStep(
  {
    name: '1_30_temporary_indexes',
    title: 'Build the temporary indexes for the backfill',
  },
  TENANT_TABLES.map(table => ({
    name: temporaryIndex(table),
    table,
    on: '(tenant_id) where tenant_id is null',
  })),
);

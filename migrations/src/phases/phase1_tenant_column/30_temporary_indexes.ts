import {
  createIndexConcurrently,
  dropIndexConcurrently,
} from '../../schema/changes';
import type { Step } from '../../engine/Step';
import { TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';

/** The index that finds the rows of a table which have no tenant yet. */
export function temporaryIndex(table: TenantTable): string {
  return `${table}_without_tenant_idx`;
}

/**
 * The temporary indexes of the backfill.
 *
 * An index on every tenant_id would get an entry for each row that the backfill
 * writes. This one only ever loses rows, and is empty when the backfill is done.
 */
export const temporaryIndexes: Step = {
  name: '1_30_temporary_indexes',
  title: 'Build the temporary indexes for the backfill',

  creates: () =>
    TENANT_TABLES.map(table => ({
      kind: 'relation',
      name: temporaryIndex(table),
    })),

  async up(context) {
    for (const table of TENANT_TABLES) {
      await createIndexConcurrently(context, {
        name: temporaryIndex(table),
        table,
        on: '(tenant_id) where tenant_id is null',
      });
    }
  },

  async down(context) {
    for (const table of TENANT_TABLES) {
      await dropIndexConcurrently(context, temporaryIndex(table));
    }
  },
};

import { describeCopies, insertInto, COPIED } from '../../copy/TableCopy';
import type { TableCopy } from '../../copy/TableCopy';
import { walkBlocks } from '../../copy/walkBlocks';
import type { Walk } from '../../copy/walkBlocks';
import type { Step } from '../../engine/Step';
import { defaultTenantPartition } from '../../schema/partitions';
import { TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';

/**
 * Copies the rows while the application changes them.
 *
 * It names the partitioned tables, whose triggers write the terms of the entities.
 *
 * The change log must run before it begins. A row that changes, or moves to another block,
 * during the copy may be copied in an old version, twice or not at all; its key is in the
 * log, and the replay corrects it.
 */
export const copyRows: Step = {
  name: '5_30_copy',
  title: 'Copy the rows into the partitions of the default tenant',
  live: true,

  async up(context) {
    for (const copy of await describeCopies(context.executor)) {
      await walkBlocks(context, copyInBlocks(copy));
    }
  },

  // The copies are dropped with their tables.
  async down({ executor, state }) {
    for (const table of TENANT_TABLES) {
      await executor.execute(state.forget(stateKey(table)));
    }
  },
};

function copyInBlocks(copy: TableCopy): Walk {
  return {
    title: `Copy ${copy.source}`,
    table: copy.source,
    stateKey: stateKey(copy.table),
    // A row that has moved may come twice; its key is in the log. Entities have a unique
    // key that catches it, the others only if their indexes exist already.
    batch: range => `with copied as (
  ${insertInto(copy)}
  select ${copy.columns.join(', ')}
    from ${copy.source}
   where ${COPIED} and ${range}
      on conflict do nothing returning 1
) select count(*)::int as done from copied`,
    // ACCESS EXCLUSIVE on a copy that no session uses yet.
    reset: `truncate ${copy.target}`,
  };
}

function stateKey(table: TenantTable): string {
  return `copy:${defaultTenantPartition(table)}`;
}

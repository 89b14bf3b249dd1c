import { replayOnce } from '../copy/catchUp';
import { dropLogTriggers } from '../copy/changeLog';
import type { TableCopy } from '../copy/TableCopy';
import { ofTenant } from '../copy/TableCopy';
import type { StepContext } from '../engine/Step';
import { catchAllPartition } from '../schema/partitions';
import { escapeIdentifier, escapeLiteral } from '../schema/sql';
import { TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import { beginMove } from './beginMove';
import { forgetCopies, PREPARATION, settle } from './leftovers';
import { runMove } from './move';
import type { MoveOptions, MovePart } from './move';
import { PARTITION_LOG, tenantCheck } from './names';
import { preparePartitions } from './prepare';
import type { Partitions, Tenant } from './Tenant';

// So many entries take a few milliseconds.
const LONGEST_LOG = 500;

// 55P03, lock_not_available: the attempt is given up like one that got no lock,
// and the log is replayed again before the next one.
const REFUSE_LONG_LOG = `if (select count(*) from ${PARTITION_LOG.table}) > ${LONGEST_LOG} then
  raise exception 'The change log is too long for a move' using errcode = '55P03';
end if`;

/** What a command about a tenant's partitions has done. */
export interface PartitionResult {
  /** Whether there was anything to do. */
  changed: boolean;
  /** The partitions that the tenant has, or had. */
  partitions?: Partitions;
}

/**
 * Gives a tenant a partition of each table, while everybody works.
 *
 * Nothing is removed from where it is until a verified copy is complete; that, and
 * putting the copy in its place, is one transaction (see {@link runMove}).
 *
 * @throws {@link RefusedError} unless the partitioned tables are in use, for a
 *   tenant that can have none, and if the move takes too long
 */
export async function givePartition(
  context: StepContext,
  slug: string,
  options: MoveOptions = {},
): Promise<PartitionResult> {
  const { tenant, partitions: found } = await beginMove(context, slug, 'give');
  if (found) {
    return { changed: false, partitions: found };
  }
  const copies = await preparePartitions(context, tenant);
  const partitions = Object.fromEntries(
    copies.map(({ table, target }) => [table, target]),
  ) as Partitions;
  await runMove(
    context,
    {
      title: `Give "${slug}" its partitions`,
      tenant,
      partitions,
      prepare: async session => {
        await replayOnce(session, PARTITION_LOG);
      },
      parts: attachParts(context, tenant, copies),
    },
    options,
  );
  await settle(context);
  return { changed: true, partitions };
}

function attachParts(
  context: StepContext,
  { id }: Tenant,
  copies: TableCopy[],
): MovePart[] {
  const [entities, ...others] = copies;
  return [
    {
      title: 'replay the last changes',
      statements: [
        REFUSE_LONG_LOG,
        `perform ${PARTITION_LOG.replay}()`,
        ...TENANT_TABLES.flatMap(table =>
          dropLogTriggers(catchAllPartition(table), PARTITION_LOG),
        ),
      ],
    },
    // What references entities first: the foreign keys find nothing to delete.
    ...[...others, entities].map(removeRows),
    // Entities first: foreign keys are checked as the others are attached.
    ...copies.map(({ table, target }) => ({
      title: `attach ${target}`,
      statements: [
        `alter table ${table} attach partition ${escapeIdentifier(
          target,
        )} for values in (${escapeLiteral(id)})`,
        `alter table ${escapeIdentifier(target)} drop constraint ${tenantCheck(
          table,
        )}`,
      ],
    })),
    {
      title: 'forget the preparation',
      statements: [
        ...forgetCopies(
          context.state,
          copies.map(copy => copy.target),
        ),
        context.state.forget(PREPARATION),
      ],
    },
  ];
}

function removeRows(copy: TableCopy): MovePart {
  return {
    title: `remove the rows from ${copy.source}`,
    statements: [
      `delete from ${copy.source} where ${ofTenant(copy)}`,
      'get diagnostics moved = row_count',
      `select count(*) into expected from ${escapeIdentifier(copy.target)}`,
      refuseDifference(copy.table, copy.target),
    ],
  };
}

/** Ends the move if not as many rows have moved as there were. */
export function refuseDifference(
  table: TenantTable,
  partition: string,
): string {
  return `if moved <> expected then
  raise exception '% rows of ${table} moved, but ${partition} has %', moved, expected
    using errcode = 'integrity_constraint_violation';
end if`;
}

import { describeCopy, insertInto, writtenColumns } from '../copy/TableCopy';
import type { TableCopy } from '../copy/TableCopy';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { catchAllPartition } from '../schema/partitions';
import { escapeIdentifier } from '../schema/sql';
import { TENANT_TABLES } from '../schema/tables';
import { createMoveFenceFunction } from './fence';
import { refuseDifference } from './givePartition';
import type { PartitionResult } from './givePartition';
import { beginMove } from './beginMove';
import { settle } from './leftovers';
import { runMove } from './move';
import type { MoveOptions, MovePart } from './move';
import type { Partitions, Tenant } from './Tenant';

/**
 * Takes a tenant's partitions back: its rows go where those of all tenants are
 * that have none, and the partitions are dropped.
 *
 * All of it is one transaction: the catch-all partition refuses rows of a tenant
 * as long as that has one of its own, so nothing can be prepared.
 *
 * @throws {@link RefusedError} unless the partitioned tables are in use, for a
 *   tenant that keeps its partition, and if the move takes too long
 */
export async function takeBackPartition(
  context: StepContext,
  slug: string,
  options: MoveOptions = {},
): Promise<PartitionResult> {
  const { executor } = context;
  const { tenant, partitions } = await beginMove(context, slug, 'takeBack');
  if (!partitions) {
    return { changed: false };
  }
  const copies = await describeWayBack(executor, tenant, partitions);
  await runMove(
    context,
    {
      title: `Take the partitions of "${slug}" back`,
      tenant,
      partitions,
      parts: await detachParts(executor, copies),
    },
    options,
  );
  await settle(context);
  return { changed: true, partitions };
}

async function describeWayBack(
  executor: Executor,
  { id }: Tenant,
  partitions: Partitions,
): Promise<TableCopy[]> {
  const copies: TableCopy[] = [];
  for (const table of TENANT_TABLES) {
    copies.push(
      await describeCopy(executor, table, {
        source: partitions[table],
        target: catchAllPartition(table),
        tenantId: id,
      }),
    );
  }
  return copies;
}

async function detachParts(
  executor: Executor,
  copies: TableCopy[],
): Promise<MovePart[]> {
  const parts: MovePart[] = [];
  // Entities last: a partition that is referenced can't be detached.
  for (const { table, source } of [...copies].reverse()) {
    const name = escapeIdentifier(source);
    parts.push({
      title: `detach ${source}`,
      statements: [
        `alter table ${table} detach partition ${name}`,
        ...(await dropEntityKeys(executor, source)),
      ],
    });
  }
  return [
    ...parts,
    ...copies.map(bringBack),
    {
      title: 'drop the partitions',
      statements: [
        ...[...copies]
          .reverse()
          .map(({ source }) => `drop table ${escapeIdentifier(source)}`),
        createMoveFenceFunction,
      ],
    },
  ];
}

/** A partition that is detached goes on referencing entities by itself. */
async function dropEntityKeys(
  executor: Executor,
  partition: string,
): Promise<string[]> {
  const keys = await executor.read<{ name: string }>(
    `select distinct conname as name from pg_constraint
      where conrelid = to_regclass(quote_ident($1)) and contype = 'f'
        and confrelid = to_regclass('entities')`,
    [partition],
  );
  return keys.map(
    ({ name }) =>
      `alter table ${escapeIdentifier(partition)} ` +
      `drop constraint if exists ${escapeIdentifier(name)}`,
  );
}

function bringBack(copy: TableCopy): MovePart {
  const source = escapeIdentifier(copy.source);
  const columns = writtenColumns(copy);
  return {
    title: `bring the rows back to ${copy.target}`,
    statements: [
      `${insertInto(copy)}
select ${columns.join(', ')} from ${source}`,
      'get diagnostics moved = row_count',
      `select count(*) into expected from ${source}`,
      refuseDifference(copy.table, copy.source),
    ],
  };
}

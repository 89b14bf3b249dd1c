import { DatabaseError } from 'pg';
import { requireTenant } from '../adopt/engine';
import type { RegisteredTenant } from '../adopt/engine';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { isSwapped } from '../schema/partitions';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../schema/tables';
import { announceMove, tookTooLong } from './estimate';
import { findPartitions, refuseDependents } from './partitions';
import type { FoundPartitions, Partitions } from './partitions';
import { giveStatements, takeBackStatements } from './statements';
import { tenantPartition } from './tenantPartition';

/** For how long a move may block the application, unless told otherwise. */
const DEFAULT_MAX_BLOCK_MS = 10_000;

/** The result of a partition command. */
export interface PartitionResult {
  /** False if the tenant was already there. */
  changed: boolean;
  /** The partitions that the tenant has, or had. */
  partitions?: Partitions;
}

/** The error of a move that took longer than it may. */
const TOO_LONG = 'TP001';

/**
 * Gives a tenant a partition of each table.
 *
 * @throws {@link RefusedError} unless phase 5 is done, for a tenant that can have none,
 *   and if it takes longer than `maxBlockMs`
 */
export async function givePartition(
  context: StepContext,
  slug: string,
  { maxBlockMs = DEFAULT_MAX_BLOCK_MS }: { maxBlockMs?: number } = {},
): Promise<PartitionResult> {
  const { tenant, found } = await look(context, slug);
  if (tenant.isDeleted) {
    throw new RefusedError(
      `The tenant "${slug}" is deleted. Restore it first.`,
    );
  }
  if (found.own) {
    return { changed: false, partitions: found.own };
  }
  const own = Object.fromEntries(
    TENANT_TABLES.map(table => [table, tenantPartition(table, tenant.slug)]),
  ) as Partitions;
  const { executor } = context;
  await refuseDependents(executor, Object.values(found.shared));
  await announceMove(context, tenant, found, maxBlockMs);
  await perform(context, {
    title: `Give "${slug}" its partitions`,
    // For foreign keys: look-ups of tenants go on.
    tenantsLock: 'share row exclusive',
    statements: await giveStatements(executor, { tenant, own, ...found }),
    maxBlockMs,
  });
  // ANALYZE blocks no reader and no writer.
  await executor.execute(`analyze ${Object.values(own).join(', ')}`);
  return { changed: true, partitions: own };
}

/**
 * Takes a tenant's partitions back: its rows go into the shared ones. The tenant may be
 * deleted.
 *
 * @throws {@link RefusedError} unless phase 5 is done, for the default tenant, and if it
 *   takes longer than `maxBlockMs`
 */
export async function takeBackPartition(
  context: StepContext,
  slug: string,
  { maxBlockMs = DEFAULT_MAX_BLOCK_MS }: { maxBlockMs?: number } = {},
): Promise<PartitionResult> {
  const { tenant, found } = await look(context, slug);
  const { shared, own } = found;
  if (!own) {
    return { changed: false };
  }
  const { executor } = context;
  await refuseDependents(executor, Object.values(own));
  await announceMove(context, tenant, found, maxBlockMs);
  await perform(context, {
    title: `Take the partitions of "${slug}" back`,
    // DROP TABLE needs it on what a table references.
    tenantsLock: 'access exclusive',
    statements: await takeBackStatements(executor, { tenant, shared, own }),
    maxBlockMs,
  });
  return { changed: true, partitions: own };
}

async function look(
  context: StepContext,
  slug: string,
): Promise<{ tenant: RegisteredTenant; found: FoundPartitions }> {
  const { executor } = context;
  if (!(await isSwapped(executor))) {
    throw new RefusedError(
      `The partitioned tables are not in use. Run "${operatorCommand(
        'phase5',
      )}" first.`,
    );
  }
  const tenant = await requireTenant(context, slug);
  if (tenant.tenantId === DEFAULT_TENANT_ID) {
    throw new RefusedError(
      `The tenant "${slug}" is the default one, whose partition phase 5 creates.`,
    );
  }
  return { tenant, found: await findPartitions(executor, tenant) };
}

/** Moves the rows in one transaction: a process that is killed leaves nothing behind. */
async function perform(
  { executor }: StepContext,
  move: {
    title: string;
    tenantsLock: string;
    statements: string[];
    maxBlockMs: number;
  },
): Promise<void> {
  const { title, tenantsLock, statements, maxBlockMs } = move;
  try {
    await executor.transaction({
      title,
      locks:
        `ACCESS EXCLUSIVE on ${TENANT_TABLES.join(
          ', ',
        )} and their partitions, ${tenantsLock.toUpperCase()} on tenants, for ` +
        `${maxBlockMs} ms at the most: readers and writers wait, and none fails. ` +
        'Under a weaker lock, taken first, a transaction that reads and then writes would ' +
        'deadlock with ATTACH PARTITION.',
      tables: [...TENANT_TABLES],
      statements: [
        `lock table tenants in ${tenantsLock} mode`,
        `set local statement_timeout = ${maxBlockMs}`,
        asOneStatement(statements, maxBlockMs),
        'set local statement_timeout = 0',
      ],
    });
  } catch (error) {
    throw error instanceof DatabaseError && error.code === TOO_LONG
      ? tookTooLong(maxBlockMs)
      : error;
  }
}

/** One statement, for which statement_timeout counts once. */
function asOneStatement(statements: string[], maxBlockMs: number): string {
  return `do $move$
#variable_conflict use_column
declare
  tenancy_begun timestamptz := clock_timestamp();
begin
${statements.map(statement => `${statement};`).join('\n')}
exception when query_canceled then
  -- PostgreSQL has one code for this and for pg_cancel_backend.
  if clock_timestamp() < tenancy_begun + interval '${
    0.9 * maxBlockMs
  } milliseconds' then
    raise;
  end if;
  raise exception 'The move takes too long' using errcode = '${TOO_LONG}';
end $move$`;
}

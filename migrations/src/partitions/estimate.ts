import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { TENANT_TABLES } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { formatThings } from '../text';
import type { FoundPartitions } from './partitions';
import type { RegisteredTenant } from '../adopt/engine';

// Measured: 20,240 rows with their indexes and foreign keys moved in 2 to 4 s. PostgreSQL reads
// the others once, to see that none of the tenant is left.
const MS_OF_A_MOVED_ROW = 0.2;
const MS_OF_A_READ_ROW = 0.001;

/** A value of `--max-block` with some room; 600 s is the longest. */
const longerThan = (milliseconds: number) =>
  Math.min(Math.ceil(milliseconds / 5000) * 10_000, 600_000);

const formatDuration = (milliseconds: number) =>
  `${(milliseconds / 1000).toFixed(1)} s`;

/**
 * Says for about how long a move will block the application.
 *
 * @throws {@link RefusedError} if that is longer than it may be
 */
export async function announceMove(
  { executor, reporter }: StepContext,
  tenant: RegisteredTenant,
  { own, shared }: FoundPartitions,
  maxBlockMs: number,
): Promise<void> {
  let moved = 0;
  let milliseconds = 0;
  for (const table of TENANT_TABLES) {
    const [{ rows, all }] = await executor.read<{ rows: number; all: number }>(
      `select count(*) filter (where tenant_id = $1)::float8 as rows, count(*)::float8 as all
         from ${escapeIdentifier((own ?? shared)[table])}`,
      [tenant.tenantId],
    );
    moved += rows;
    milliseconds += rows * MS_OF_A_MOVED_ROW + all * MS_OF_A_READ_ROW;
  }
  const text =
    `${formatThings(
      moved,
      'row',
    )} move, which blocks all readers and writers of ` +
    `the tables for about ${formatDuration(milliseconds)}.`;
  if (milliseconds > maxBlockMs) {
    throw new RefusedError(
      `${text} In a quiet hour, allow that: --max-block ${longerThan(
        milliseconds,
      )}.`,
    );
  }
  reporter.info(text);
}

/** The error of a move that took longer than estimated. */
export function tookTooLong(maxBlockMs: number): RefusedError {
  return new RefusedError(
    `The move took longer than ${formatDuration(
      maxBlockMs,
    )}, and was rolled back. ` +
      `In a quiet hour, allow it more: --max-block ${longerThan(maxBlockMs)}.`,
  );
}

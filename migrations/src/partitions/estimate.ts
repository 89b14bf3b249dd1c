import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import type { MigrationSession } from '../session/MigrationSession';
import { TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { formatBytes, formatThings } from '../text';
import { copyRows } from './statements';
import type { FoundPartitions } from './partitions';
import type { Tenant } from './Tenant';

/** The name of a table with a sample of the rows, which no transaction commits. */
export const SAMPLE = 'tenancy_move_sample';

const SAMPLED_ROWS = 1000;

// A row that moves is also deleted, and its foreign keys are checked.
const MOVED_TO_COPIED = 1.5;

/** A value of `--max-block` with some room; 600 s is the longest. */
const longerThan = (milliseconds: number) =>
  `${Math.min(Math.ceil(milliseconds / 5000) * 10, 600)}s`;

const formatDuration = (milliseconds: number) =>
  `${(milliseconds / 1000).toFixed(1)} s`;

/** What moves, and for about how long it blocks the application. */
interface Estimate {
  rows: number;
  bytes: number;
  milliseconds: number;
}

/**
 * Says for about how long a move will block the application: it copies a sample of the rows,
 * and rolls that back.
 *
 * @throws {@link RefusedError} if that is longer than it may be
 */
export async function announceMove(
  { executor, reporter }: StepContext,
  tenant: Tenant,
  { own, shared }: FoundPartitions,
  maxBlockMs: number,
): Promise<void> {
  const estimate = { rows: 0, bytes: 0, milliseconds: 0 };
  await executor.work({
    title: 'Before it begins, a sample of the rows is copied and rolled back.',
    script: [],
    async run(session) {
      for (const table of TENANT_TABLES) {
        const source = (own ?? shared)[table];
        await addTable(estimate, { session, executor, table, source, tenant });
      }
    },
  });
  if (executor.dryRun) {
    return;
  }
  const text = describe(estimate);
  if (estimate.milliseconds > maxBlockMs) {
    throw new RefusedError(
      `${text} In a quiet hour, allow that: --max-block ${longerThan(
        estimate.milliseconds,
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

/** A table whose rows move, and what reads it. */
interface Sample {
  session: MigrationSession;
  executor: Executor;
  table: TenantTable;
  source: string;
  tenant: Tenant;
}

async function addTable(estimate: Estimate, sample: Sample): Promise<void> {
  const { session, source, tenant } = sample;
  const begun = performance.now();
  const [{ rows, all, bytes }] = await session.query<{
    rows: number;
    all: number;
    bytes: number;
  }>(
    `select count(*) filter (where tenant_id = $1)::float8 as rows, count(*)::float8 as all,
            pg_table_size(to_regclass(quote_ident($2)))::float8 as bytes
       from ${escapeIdentifier(source)}`,
    [tenant.id, source],
  );
  // ATTACH PARTITION reads all rows as well.
  estimate.milliseconds += performance.now() - begun;
  if (rows > 0) {
    const perRow = (await copySample(sample)) / Math.min(rows, SAMPLED_ROWS);
    estimate.rows += rows;
    estimate.bytes += (bytes * rows) / all;
    estimate.milliseconds += rows * perRow * MOVED_TO_COPIED;
  }
}

/** How long it took in milliseconds. */
async function copySample(sample: Sample): Promise<number> {
  const { session, executor, table, source, tenant } = sample;
  const copy = await copyRows(executor, table, source, SAMPLE, tenant);
  await session.query('begin');
  try {
    // ACCESS SHARE on both: no reader or writer waits.
    await session.query(
      `create table ${SAMPLE} (like ${table} including all excluding identity)`,
    );
    const begun = performance.now();
    await session.query(`${copy} limit ${SAMPLED_ROWS}`);
    return performance.now() - begun;
  } finally {
    await session.rollback();
  }
}

function describe({ rows, bytes, milliseconds }: Estimate): string {
  return (
    `${formatThings(rows, 'row')} (${formatBytes(
      bytes,
    )}) move, which blocks all ` +
    `readers and writers of the tables for about ${formatDuration(
      milliseconds,
    )}.`
  );
}

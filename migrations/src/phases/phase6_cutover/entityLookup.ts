import type { Executor } from '../../engine/Executor';
import { escapeLiteral } from '../../sql';
import { DEFAULT_TENANT_ID } from '../../schema/tables';

/** The target of the specification, with partition pruning. */
const EXPECTED_MS = 20;

/** The bound of the specification's checklist. */
const WARN_ABOVE_MS = 50;

const LOOKUPS = 5;

/** EXPLAIN of the application's look-up by reference. */
export function explainLookup(ref: string, format = 'json'): string {
  return `explain (analyze, format ${format})
select final_entity from entities
 where tenant_id = '${DEFAULT_TENANT_ID}' and entity_ref = ${escapeLiteral(ref)}
   and deleted_at is null`;
}

/**
 * Times look-ups of single entities in the database, planning included.
 *
 * @returns the median in milliseconds; undefined without an entity
 */
export async function timeLookup(
  executor: Executor,
): Promise<number | undefined> {
  const rows = await executor.read<{ entity_ref: string }>(
    `select entity_ref from entities
      where tenant_id = $1 and deleted_at is null limit ${LOOKUPS}`,
    [DEFAULT_TENANT_ID],
  );
  if (rows.length === 0) {
    return undefined;
  }
  // Not measured: the first query loads the definitions of the partitions.
  await lookUp(executor, rows[0].entity_ref);
  const times: number[] = [];
  for (const row of rows) {
    times.push(await lookUp(executor, row.entity_ref));
  }
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)];
}

/** The message about a time, and whether it is a warning. */
export function judgeLookup(milliseconds: number): {
  slow: boolean;
  message: string;
} {
  const slow = milliseconds > WARN_ABOVE_MS;
  const message =
    'Look-up of an entity by its reference in the database: ' +
    `${milliseconds.toFixed(2)} ms (expected: under ${EXPECTED_MS} ms).`;
  const advice =
    ` More than ${WARN_ABOVE_MS} ms: run "analyze entities", and look at its plan ` +
    'for an index on (tenant_id, entity_ref) and for more than one partition.';
  return { slow, message: slow ? message + advice : message };
}

async function lookUp(executor: Executor, ref: string): Promise<number> {
  const [row] = await executor.read<{
    'QUERY PLAN': [{ 'Planning Time': number; 'Execution Time': number }];
  }>(explainLookup(ref));
  const [plan] = row['QUERY PLAN'];
  return plan['Planning Time'] + plan['Execution Time'];
}

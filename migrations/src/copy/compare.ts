import type { Executor } from '../engine/Executor';
import { CHANGE_LOG } from './changeLog';
import { COPIED } from './TableCopy';
import type { TableCopy } from './TableCopy';
import { formatCount, formatThings } from '../text';

// The alias of a row: a column of that name would hide it.
const ROW = 'tenancy_compared_row';

type Read = Executor['read'];

/**
 * Compares every table with its copy. To be called in one snapshot: in a REPEATABLE READ transaction, or while no session can write.
 *
 * @returns what differs, in words
 */
export async function findCopyProblems(
  read: Read,
  copies: TableCopy[],
): Promise<string[]> {
  const problems: string[] = [];
  for (const copy of copies) {
    problems.push(...(await compareCopy(read, copy)));
  }
  return problems;
}

/**
 * A query for one value: the number of rows and the sum of the hashes of their
 * texts, which does not depend on their order.
 */
export function checksum(
  copy: TableCopy,
  name: string,
  condition = 'true',
): string {
  return (
    `select row(count(*), sum(hashtextextended(${ROW}::text, 0)::numeric))::text ` +
    `from (select ${copy.columns.join(', ')} from ${name} ` +
    `where ${COPIED} and ${condition}) ${ROW}`
  );
}

/** Compares the rows of both sides, except those of entities whose changes wait in the log. */
async function compareCopy(read: Read, copy: TableCopy): Promise<string[]> {
  const { table, key, source, target } = copy;
  // A null key stands for all entities: the table was truncated.
  const settled =
    `${key} not in (select key from ${CHANGE_LOG} ` +
    `where table_name = '${table}' and key is not null) ` +
    `and not exists (select from ${CHANGE_LOG} ` +
    `where table_name = '${table}' and key is null)`;
  const [sums] = await read<{ source: string; target: string }>(
    `select (${checksum(copy, source, settled)}) as source,
            (${checksum(copy, target, settled)}) as target`,
  );
  if (sums.source === sums.target) {
    return [];
  }
  const keys = (await findDifferences(read, copy, settled)).map(
    row =>
      `${key} ${row.key} (${formatThings(
        row.sourceRows,
        'row',
      )} in ${source}, ` + `${formatCount(row.targetRows)} in ${target})`,
  );
  return [
    `${target} differs from ${source}: ${formatThings(
      rowsOf(sums.source),
      'row',
    )} in ${source}, ${formatCount(rowsOf(sums.target))} in ${target}. ` +
      `It differs for ${keys.join('; ')}.`,
  ];
}

/** Some of the entities whose rows differ. */
async function findDifferences(
  read: Read,
  copy: TableCopy,
  settled: string,
): Promise<{ key: string; sourceRows: number; targetRows: number }[]> {
  const side = (name: string) =>
    `select ${copy.key} as key, count(*)::int as rows,
            sum(hashtextextended(${ROW}::text, 0)::numeric) as hash
       from (select ${copy.columns.join(', ')} from ${name}
              where ${COPIED} and ${settled}) ${ROW}
      group by ${copy.key}`;
  return read(
    `select key, coalesce(s.rows, 0) as "sourceRows", coalesce(t.rows, 0) as "targetRows"
       from (${side(copy.source)}) s
       full join (${side(copy.target)}) t using (key)
      where (s.rows, s.hash) is distinct from (t.rows, t.hash)
      order by key limit 10`,
  );
}

function rowsOf(sum: string): number {
  return Number(/^\((\d+),/.exec(sum)?.[1]);
}

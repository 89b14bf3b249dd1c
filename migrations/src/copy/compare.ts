import type { Executor } from '../engine/Executor';
import { escapeIdentifier } from '../sql';
import { CHANGE_LOG } from './changeLog';
import { ofTenant } from './TableCopy';
import type { TableCopy } from './TableCopy';
import { VerificationError } from '../errors';
import { formatCount, formatThings } from '../text';

// The alias of a row: a column of that name would hide it.
const ROW = 'tenancy_compared_row';

/** The differences of a copy; empty if it is equal. */
interface CopyReport {
  comparisons: Comparison[];
  problems: string[];
}

/**
 * Compares every table with its copy, and looks for rows of the copies whose
 * entity is missing. To be called in one snapshot (see {@link compareCopy}).
 */
export async function examineCopies(
  read: Executor['read'],
  copies: TableCopy[],
): Promise<CopyReport> {
  const comparisons: Comparison[] = [];
  const problems: string[] = [];
  const [entities, ...others] = copies;
  for (const copy of copies) {
    const comparison = await compareCopy(read, copy);
    comparisons.push(comparison);
    if (!comparison.equal) {
      problems.push(describeDifference(copy, comparison));
    }
  }
  for (const copy of others) {
    const orphans = await findOrphans(read, copy, entities);
    if (orphans.count > 0) {
      problems.push(
        `${copy.target} has ${formatThings(orphans.count, 'row')} whose ${
          copy.key
        } is no entity of ` +
          `${entities.target}, such as ${orphans.examples.join(', ')}.`,
      );
    }
  }
  return { comparisons, problems };
}

/** @throws {@link VerificationError} that names the differences */
export function assertEqual({ problems }: CopyReport): void {
  if (problems.length > 0) {
    throw new VerificationError(problems.join('\n'));
  }
}

function describeDifference(copy: TableCopy, comparison: Comparison): string {
  const { source, target, sourceRows, targetRows, differing } = comparison;
  const keys = differing.map(
    row =>
      `${copy.key} ${row.key} (${formatThings(
        row.sourceRows,
        'row',
      )} in ${source}, ` + `${formatCount(row.targetRows)} in ${target})`,
  );
  return (
    `${target} differs from ${source}: ${formatThings(
      sourceRows,
      'row',
    )} in ${source}, ` +
    `${formatCount(targetRows)} in ${target}. It differs for ${keys.join(
      '; ',
    )}.`
  );
}

async function findOrphans(
  read: Executor['read'],
  copy: TableCopy,
  entities: TableCopy,
): Promise<{ count: number; examples: string[] }> {
  const [orphans] = await read<{ count: number; examples: string[] }>(
    `select count(*)::int as count,
            coalesce((array_agg(distinct o.${
              copy.key
            }::text))[1:10], '{}') as examples
       from ${escapeIdentifier(copy.target)} o
      where ${ofTenant(copy, 'o')} and not exists (
        select from ${escapeIdentifier(entities.target)} e
         where ${ofTenant(entities, 'e')} and e.tenant_id = o.tenant_id
           and e.entity_id = o.${copy.key})`,
  );
  return orphans;
}

/** How the two sides of a copy compare. */
export interface Comparison {
  table: string;
  source: string;
  target: string;
  sourceRows: number;
  targetRows: number;
  equal: boolean;
  /** Some of the entities whose rows differ. */
  differing: { key: string; sourceRows: number; targetRows: number }[];
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
    `from (select ${allColumns(copy)} from ${escapeIdentifier(name)} ` +
    `where ${ofTenant(copy)} and ${condition}) ${ROW}`
  );
}

/**
 * Compares the rows of both sides, except those of entities whose changes wait in
 * the log. Both must be read in one snapshot: call it in a REPEATABLE READ
 * transaction, or while no session can write.
 */
export async function compareCopy(
  read: Executor['read'],
  copy: TableCopy,
): Promise<Comparison> {
  // A null key stands for all entities: the table was truncated.
  const settled =
    `${copy.key} not in (select key from ${CHANGE_LOG} ` +
    `where table_name = '${copy.table}' and key is not null) ` +
    `and not exists (select from ${CHANGE_LOG} ` +
    `where table_name = '${copy.table}' and key is null)`;
  const [sums] = await read<{ source: string; target: string }>(
    `select (${checksum(copy, copy.source, settled)}) as source,
            (${checksum(copy, copy.target, settled)}) as target`,
  );
  const equal = sums.source === sums.target;
  return {
    table: copy.table,
    source: copy.source,
    target: copy.target,
    sourceRows: rowsOf(sums.source),
    targetRows: rowsOf(sums.target),
    equal,
    differing: equal ? [] : await findDifferences(read, copy, settled),
  };
}

async function findDifferences(
  read: Executor['read'],
  copy: TableCopy,
  settled: string,
): Promise<Comparison['differing']> {
  const side = (name: string) =>
    `select ${
      copy.key
    } as key, count(*)::int as rows, sum(hashtextextended(${ROW}::text, 0)::numeric) as hash
       from (select ${allColumns(copy)} from ${escapeIdentifier(name)}
              where ${ofTenant(copy)} and ${settled}) ${ROW}
      group by ${copy.key}`;
  return read(
    `select key, coalesce(s.rows, 0) as "sourceRows", coalesce(t.rows, 0) as "targetRows"
       from (${side(copy.source)}) s full join (${side(
      copy.target,
    )}) t using (key)
      where (s.rows, s.hash) is distinct from (t.rows, t.hash)
      order by key limit 10`,
  );
}

function allColumns({ columns }: TableCopy): string {
  return columns.map(({ name }) => escapeIdentifier(name)).join(', ');
}

function rowsOf(sum: string): number {
  return Number(/^\((\d+),/.exec(sum)?.[1]);
}

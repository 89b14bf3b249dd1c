import type { Executor } from '../engine/Executor';
import { VerificationError } from '../errors';
import { escapeIdentifier } from '../sql';
import { MIGRATION_LOG } from './changeLog';
import { compareCopy } from './compare';
import type { Comparison } from './compare';
import { ofTenant } from './TableCopy';
import type { TableCopy } from './TableCopy';
import { formatCount, formatThings } from '../text';

/** What is wrong with a copy; empty if nothing is. */
export interface CopyReport {
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
  log = MIGRATION_LOG,
): Promise<CopyReport> {
  const comparisons: Comparison[] = [];
  const problems: string[] = [];
  const [entities, ...others] = copies;
  for (const copy of copies) {
    const comparison = await compareCopy(read, copy, log);
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

/** @throws {@link VerificationError} that names what differs */
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

import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { TENANT_TABLES } from '../schema/tables';
import { escapeLiteral } from '../sql';
import { enumerate, script } from '../text';

/** What breaks a rule. */
export interface Found {
  /** Such as `history (relations)`. */
  name: string;
  /** The statement that puts it right, if one does. */
  fix: string | null;
  /** The statement that makes it again after phase 5, if one does. */
  again?: string | null;
  /** How many there are, where the query returns the first of them. */
  total?: number;
}

/** What must hold of the server or the tables. */
export interface Rule {
  name: string;
  level: 'failure' | 'warning';
  /** Whether it must hold on the way back of the swap, too. */
  back?: true;
  /** A query behind {@link OURS} for what breaks it, as {@link Found}. */
  sql: string;
  /** What is wrong; the names follow. */
  message: string;
  advice: string;
}

/**
 * The beginning of each query: the three tables, as far as they exist. `$1` is the schema, `$2`
 * whether the migration has begun, and `$3` the names of the tables.
 */
export const OURS = `with recursive ours as (
  select c.oid, c.relname as name, c.relkind as kind, c.reltype as type, c.relowner as owner,
         format('%I.%I', n.nspname, c.relname) as sql
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where n.nspname = $1 and c.relname = any ($3::text[])
     and $2::boolean is not null)`;

/** Rows as SQL, for what the layout expects. */
export function values(rows: (string | boolean)[][]): string {
  const texts = rows.map(
    row =>
      `(${row
        .map(each => (typeof each === 'string' ? escapeLiteral(each) : each))
        .join(', ')})`,
  );
  return `(values ${texts.join(', ')})`;
}

/** What was found of a rule or by a check of the preflight. */
export interface Finding {
  /** The name of the rule or the check: `free disk`. */
  check: string;
  /** A `failure` prevents the migration; a `warning` does not. */
  level: 'ok' | 'warning' | 'failure';
  /** Empty for most of what is well. */
  message: string;
  /** How to resolve it. */
  advice?: string;
  /** Statements that resolve it, or that show more of it. */
  sql?: string;
  /** Statements that make again after phase 5 what was dropped. */
  again?: string;
  /** The single objects or rows; for `--json`. */
  details?: unknown[];
}

/** Stands before the statements that make again what was dropped. */
export const AGAIN = 'To make them again afterwards:';

/** A finding as text. */
export function renderFinding(finding: Finding): string {
  const { check, level, message, advice, sql, again } = finding;
  return [
    `${level.padEnd(8)} ${check}${message && `: ${message}`}`,
    ...[advice, sql, again && `${AGAIN}\n${again}`]
      .filter((text): text is string => Boolean(text))
      .map(text => text.replace(/^/gm, ' '.repeat(9))),
  ].join('\n');
}

/**
 * Looks for what breaks rules.
 *
 * @param begun - whether the migration has begun, and so may have added to the tables
 */
export async function examineRules(
  { executor, settings }: Pick<StepContext, 'executor' | 'settings'>,
  rules: readonly Rule[],
  begun = true,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const rule of rules) {
    const found = await executor.read<Found>(`${OURS}${rule.sql}`, [
      settings.schema,
      begun,
      TENANT_TABLES,
    ]);
    if (found.length > 0) {
      findings.push(describe(rule, found));
    }
  }
  return findings;
}

/**
 * Refuses what breaks rules; the migration has begun by default.
 *
 * @throws {@link RefusedError} with each difference, and the statements that end it
 */
export async function refuseRules(
  context: Pick<StepContext, 'executor' | 'settings'>,
  what: string,
  rules: readonly Rule[],
  begun?: boolean,
): Promise<void> {
  const found = await examineRules(context, rules, begun);
  if (found.length > 0) {
    throw new RefusedError(`${what}:\n${found.map(renderFinding).join('\n')}`);
  }
}

function describe(
  { name, level, message, advice }: Rule,
  found: Found[],
): Finding {
  const details = found.map(each => each.name);
  const fixes = present(found.map(({ fix }) => fix));
  // What was dropped last is made again first: views depend on each other.
  const again = present(found.map(each => each.again)).reverse();
  return {
    check: name,
    level,
    message: `${message}: ${enumerate(details, found[0].total)}.`,
    advice,
    ...(fixes.length > 0 ? { sql: script(fixes) } : {}),
    ...(again.length > 0 ? { again: script(again) } : {}),
    details,
  };
}

function present(texts: (string | null | undefined)[]): string[] {
  return [...new Set(texts)].filter((text): text is string => Boolean(text));
}

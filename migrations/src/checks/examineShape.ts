import { readCompletedSteps } from '../engine/journal';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { refusePublications } from '../schema/publications';
import { TENANT_TABLES } from '../schema/tables';
import { enumerate, script } from '../text';
import { SHAPE_RULES } from './shape';
import type { Found, ShapeRule } from './shape';

/** Stands before the statements that make again what was dropped. */
export const AGAIN = 'To make them again after phase 5:';

type Context = Pick<StepContext, 'executor' | 'settings'>;

/** What differs from the layout by one rule. */
export interface Difference {
  message: string;
  advice: string;
  /** The statements that put it right. */
  sql?: string;
  /** The statements that make it again after phase 5. */
  again?: string;
  names: string[];
}

/**
 * Compares the tables with the layout by one rule.
 *
 * @param begun - whether the migration has begun, and so may have added to the tables
 */
export async function examineRule(
  { executor, settings }: Context,
  rule: ShapeRule,
  begun: boolean,
): Promise<Difference | undefined> {
  const found = await executor.read<Found>(rule.sql, [
    settings.schema,
    begun,
    TENANT_TABLES,
  ]);
  if (found.length === 0) {
    return undefined;
  }
  const names = found.map(({ name }) => name);
  const fixes = present(found.map(({ fix }) => fix));
  // What was dropped last is made again first: views depend on each other.
  const again = present(found.map(each => each.again)).reverse();
  return {
    message: `${rule.message}: ${enumerate(names)}.`,
    advice: rule.advice,
    ...(fixes.length > 0 ? { sql: script(fixes) } : {}),
    ...(again.length > 0 ? { again: script(again) } : {}),
    names,
  };
}

function present(texts: (string | null)[]): string[] {
  return texts.filter((text): text is string => text !== null);
}

/**
 * Refuses a phase while tables have another shape than the layout's.
 *
 * @param what - such as `Phase 4 cannot begin`
 * @throws {@link RefusedError} with each difference, and the statements that end it
 */
export async function refuseShape(
  context: StepContext,
  what: string,
): Promise<void> {
  await refusePublications(context, what);
  const begun = (await readCompletedSteps(context.executor)).length > 0;
  const differences: string[] = [];
  for (const rule of SHAPE_RULES) {
    const difference = await examineRule(context, rule, begun);
    if (difference) {
      differences.push(describe(difference));
    }
  }
  refuse(what, differences);
}

/**
 * Refuses the way back of the swap while objects would stay with the tables that go out of
 * use.
 *
 * @throws {@link RefusedError} with each of them
 */
export async function refuseShapeToGoBack(context: Context): Promise<void> {
  const found = await examineToGoBack(context, 'failure');
  refuse('The tables cannot be swapped', found.map(describe));
}

/** Warns of what the tables of before lack, and worked without. */
export async function warnOfArchived(context: StepContext): Promise<void> {
  for (const { message } of await examineToGoBack(context, 'warning')) {
    context.reporter.warn(`${message} They stay with the archive.`);
  }
}

async function examineToGoBack(
  context: Context,
  level: 'failure' | 'warning',
): Promise<Difference[]> {
  const found: Difference[] = [];
  for (const rule of SHAPE_RULES.filter(each => each.level.back === level)) {
    const difference = await examineRule(context, rule, true);
    found.push(...(difference ? [difference] : []));
  }
  return found;
}

function refuse(what: string, differences: string[]): void {
  if (differences.length > 0) {
    throw new RefusedError(`${what}:\n${differences.join('\n')}`);
  }
}

function describe({ message, advice, sql, again }: Difference): string {
  const indent = (text: string) => text.replace(/^/gm, '    ');
  return [
    `- ${message}`,
    `  ${advice}`,
    ...(sql ? [indent(sql)] : []),
    ...(again ? [`  ${AGAIN}`, indent(again)] : []),
  ].join('\n');
}

const TABLES = TENANT_TABLES.map(table => `'${table}'::regclass`).join(', ');

// Indexes, constraints, triggers, defaults, policies, views and whatever else depends on a
// table or its row type: one look-up by an index.
const FINGERPRINT = `
  select hashtextextended(coalesce(string_agg(d::text, ' ' order by d::text), ''), 0)
    from (select classid, objid, objsubid, deptype from pg_depend
           where refclassid = 'pg_class'::regclass and refobjid in (${TABLES})
              or refclassid = 'pg_type'::regclass and refobjid in (
                   select reltype from pg_class where oid in (${TABLES}))) d`;

/**
 * The statement that fails unless the same objects depend on the tables in use as do now.
 * For a moment at which no session can add any.
 */
export async function refuseLaterAdditions({
  executor,
}: Pick<StepContext, 'executor'>): Promise<string> {
  const [{ fingerprint }] = await executor.read<{ fingerprint: string }>(
    `select (${FINGERPRINT})::text as fingerprint`,
  );
  return `do $$ begin
  if (${FINGERPRINT}) <> ${fingerprint} then
    raise exception 'The tables, or what depends on them, were changed a moment ago'
      using errcode = 'integrity_constraint_violation',
            hint = 'Run the command again: it names what is in the way.';
  end if;
end $$`;
}

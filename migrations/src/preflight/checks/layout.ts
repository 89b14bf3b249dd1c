import { examineRule } from '../../checks/examineShape';
import { examineRows, readRowRules } from '../../checks/rows';
import { columns } from '../../checks/shape';
import type { ShapeRule } from '../../checks/shape';
import { TENANT_TABLES } from '../../schema/tables';
import { failure } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
} from '../PreflightCheck';

/** The check of one rule of the layout. */
export function shape(rule: ShapeRule): PreflightCheck {
  return {
    name: rule.name,
    scope: 'tables',
    fine: rule.fine,
    run: context => examine(context, rule),
  };
}

/** What differs from the layout by a rule. */
export async function examine(
  context: PreflightContext,
  rule: ShapeRule,
): Promise<Outcome[]> {
  const begun = context.facts.begunPhase > 0;
  const difference = await examineRule(context, rule, begun);
  if (!difference) {
    return [];
  }
  const { message, names, ...more } = difference;
  return [failure(message, { ...more, details: names })];
}

/** Columns that become NOT NULL hold a value in every row. */
export const requiredValues = rows(
  'required values',
  'Every row has the required values.',
);

export const entityRefs = rows(
  'entity references',
  'Every entity_ref is <entity_kind>:<entity_namespace>/<entity_name>.',
);

export const orphans = rows(
  'orphans',
  'Every row of relations and refresh_state has its entity.',
);

function rows(name: string, fine: string): PreflightCheck {
  return {
    name,
    scope: 'rows',
    fine,
    async run(context) {
      const { executor, facts } = context;
      // A query of the rows would fail: the checks of tables and columns say why.
      if (
        facts.tables.length < TENANT_TABLES.length ||
        (await examine(context, columns)).length > 0
      ) {
        return [];
      }
      const outcomes: Outcome[] = [];
      for (const rule of await readRowRules(executor)) {
        const broken =
          rule.name === name ? await examineRows(executor, rule) : undefined;
        if (broken) {
          const { message, sql, examples } = broken;
          outcomes.push(
            failure(message, { advice: rule.advice, sql, details: examples }),
          );
        }
      }
      return outcomes;
    },
  };
}

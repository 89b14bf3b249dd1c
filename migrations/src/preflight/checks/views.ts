import {
  bypassesPolicies,
  readViews,
  SECURITY_INVOKER_SINCE,
} from '../../schema/views';
import type { TableView } from '../../schema/views';
import { ok, warning } from '../Finding';
import type { Outcome } from '../Finding';
import { obstacleOutcomes } from '../obstacleOutcomes';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';
import { enumerate } from '../../text';

/** What shows rows of the tables to others, at any remove. */
export const views: PreflightCheck = {
  name: 'views',
  scope: 'tables',
  async run(context) {
    const { executor, facts } = context;
    const found = await readViews(
      executor,
      facts.tables.map(({ oid }) => oid),
    );
    if (found.length === 0) {
      return [ok('No view reads the tables.')];
    }
    return [
      ok(
        `Views read the tables: ${enumerate(
          found.map(({ qualifiedName }) => qualifiedName),
        )}.`,
        {
          details: found,
        },
      ),
      ...(await obstacleOutcomes(context, 'views')),
      ...found.flatMap(view => judge(view, context)),
    ];
  },
};

/** Those that phase 4 changes. */
function judge(view: TableView, { facts }: PreflightContext): Outcome[] {
  const { qualifiedName: name, owner, readers, ours, materialized } = view;
  if (
    materialized ||
    !ours ||
    !bypassesPolicies(view) ||
    facts.version < SECURITY_INVOKER_SINCE
  ) {
    return [];
  }
  return [
    readers.length === 0
      ? ok(`Phase 4 sets security_invoker on the view ${name}.`)
      : warning(
          `Phase 4 sets security_invoker on the view ${name}, because ${owner} bypasses row-level security: ` +
            `its readers (${enumerate(
              readers,
            )}) then need SELECT on the tables under it.`,
          { advice: 'Grant it to those that may read the tables.' },
        ),
  ];
}

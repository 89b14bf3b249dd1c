import { escapeIdentifier } from '../../schema/sql';
import {
  bypassesPolicies,
  readViews,
  SECURITY_INVOKER_SINCE,
} from '../../schema/views';
import type { TableView } from '../../schema/views';
import { failure, ok, warning } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck, PreflightContext } from '../PreflightCheck';
import { enumerate, script } from '../../text';

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
      ...found.flatMap(view =>
        view.materialized
          ? [copied(view)]
          : [...judgeGrouping(view), ...judge(view, context)],
      ),
    ];
  },
};

function copied({ qualifiedName: name }: TableView): Outcome {
  return failure(
    `${name} is a materialized view: it holds copies of rows, which row-level security does not protect.`,
    {
      advice: 'Make a view of it, or drop it.',
      sql: script([`drop materialized view ${name}`]),
    },
  );
}

/** The key of the partitioned tables has the tenant in front. */
function judgeGrouping(view: TableView): Outcome[] {
  const { qualifiedName: name, groupedByKeyOf: table } = view;
  return table === null
    ? []
    : [
        failure(
          `The view ${name} groups by the primary key of ${table} alone, and shows other columns of it. ` +
            'Phase 5 cannot bring it along: the new primary key has two columns.',
          {
            advice:
              `Name in its GROUP BY each column of ${table} that it shows outside of an aggregate: ` +
              'it then shows the same, and hangs on no key.',
            sql: `select pg_get_viewdef('${name.replace(
              /'/g,
              "''",
            )}'::regclass);`,
          },
        ),
      ];
}

function judge(view: TableView, { facts }: PreflightContext): Outcome[] {
  const { qualifiedName: name, owner, direct, ours, readers } = view;
  const bypasses = bypassesPolicies(view);
  const login = escapeIdentifier(facts.login);
  if (!ours && (direct || bypasses)) {
    return [
      failure(
        `The login ${facts.login} does not have the rights of ${owner}, the owner of the view ${name}, which phases 4 and 5 have to change.`,
        {
          advice: 'Let a superuser run this.',
          // To make the login a member of a superuser would make it one.
          sql: script([
            view.ownerIsSuperuser
              ? `alter view ${name} owner to ${login}`
              : `grant ${escapeIdentifier(owner)} to ${login}`,
          ]),
        },
      ),
    ];
  }
  if (!bypasses) {
    return [];
  }
  if (facts.version < SECURITY_INVOKER_SINCE) {
    return [
      failure(
        `${owner}, the owner of the view ${name}, bypasses row-level security, so the view would show every tenant's rows.`,
        {
          advice:
            'Give it to an owner that does not bypass row-level security and may read the tables.',
          sql: script([`alter view ${name} owner to <role>`]),
        },
      ),
    ];
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

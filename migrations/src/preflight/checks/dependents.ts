import type { Creation } from '../../engine/Step';
import { Journal } from '../../engine/journal';
import { explainTaken, takenNames } from '../../engine/ownership';
import { phases } from '../../phases';
import {
  SECURITY_INVOKER_SINCE,
  bypassesPolicies,
  readViews,
} from '../../schema/views';
import type { TableView } from '../../schema/views';
import { escapeIdentifier } from '../../sql';
import { enumerate, script } from '../../text';
import { failure, ok, warning } from '../PreflightCheck';
import type {
  Outcome,
  PreflightCheck,
  PreflightContext,
} from '../PreflightCheck';

const STEPS = phases.flatMap(({ steps }) => steps);

// The check of columns reports names of columns.
const NAMED: Creation['kind'][] = [
  'relation',
  'original',
  'function',
  'constraint',
  'trigger',
  'policy',
];

/** The names of all that the migration creates are free, or its own. */
export const names: PreflightCheck = {
  name: 'names',
  scope: 'server',
  async run(context) {
    const journal = await Journal.read(context.executor, STEPS);
    const taken = await takenNames(context, journal, NAMED);
    return taken.length === 0
      ? [ok('Nothing stands under the names that the migration uses.')]
      : [failure(explainTaken(taken), { details: taken })];
  },
};

interface Trigger {
  name: string;
  /** The name of the table as SQL. */
  table: string;
  /** As pg_trigger has it: O, A, R or D. */
  enabled: string;
  transitionTables: boolean;
  forEachRow: boolean;
  /** The name of its function as SQL. */
  function: string;
  /** The variable by which the function reads the table's name, if it does. */
  readsTable: string | null;
}

const ENABLED: Record<string, string> = {
  A: ', enabled always',
  R: ', enabled for replicas',
  D: ', disabled',
};

// The names of PL/Perl and PL/Python, then those of PL/pgSQL and PL/Tcl.
const READS_TABLE = `substring(p.prosrc from case
    when l.lanname ~ '^pl(perl|python)' then '\\m(?:table_name|relname|relid)\\M'
    else '(?i)\\mtg_(?:table_name|relname|relid)\\M' end)`;

const ROOT_TABLE =
  '(select relname from pg_class where oid = coalesce(pg_partition_root(tg_relid), tg_relid))';

/**
 * Triggers can follow to the partitioned tables. Constraint triggers can, also
 * deferred ones; row triggers with transition tables cannot, on any version.
 */
export const triggers: PreflightCheck = {
  name: 'triggers',
  scope: 'tables',
  fine: 'The tables have no triggers.',
  async run({ executor, facts }) {
    const found = await executor.read<Trigger>(
      `select tgname as name, tgrelid::regclass::text as table, tgenabled as enabled,
              tgoldtable is not null or tgnewtable is not null as "transitionTables",
              tgtype & 1 = 1 as "forEachRow", tgfoid::regprocedure::text as function,
              ${READS_TABLE} as "readsTable"
         from pg_trigger join pg_proc p on p.oid = tgfoid
         join pg_language l on l.oid = p.prolang
        where tgrelid = any ($1) and not tgisinternal
        order by 2, 1`,
      [facts.tables.map(({ oid }) => oid)],
    );
    const refused = found.filter(
      each => each.transitionTables && each.forEachRow,
    );
    const carried = found.filter(each => !refused.includes(each));
    const outcomes: Outcome[] = [
      ...refused.map(refuseTrigger),
      ...carried
        .filter(each => each.forEachRow && each.readsTable !== null)
        .map(warnOfPartition),
    ];
    if (carried.length > 0) {
      const list = carried.map(
        ({ name, table, enabled }) =>
          `${name} (${table}${ENABLED[enabled] ?? ''})`,
      );
      outcomes.push(
        ok(`Triggers are carried over: ${enumerate(list)}.`, {
          details: carried,
        }),
      );
    }
    return outcomes;
  },
};

function refuseTrigger({ name, table }: Trigger): Outcome {
  return failure(
    `The trigger ${name} of ${table} is FOR EACH ROW and has transition tables, ` +
      'which a partitioned table cannot have.',
    {
      advice:
        'Make it FOR EACH STATEMENT, or do without the transition tables.',
      sql: script([`drop trigger ${escapeIdentifier(name)} on ${table}`]),
    },
  );
}

/** From the swap on, TG_RELID and TG_TABLE_NAME are those of the row's partition. */
function warnOfPartition(trigger: Trigger): Outcome {
  const { name, table, function: called } = trigger;
  const variable = trigger.readsTable?.toUpperCase();
  return warning(
    `The function ${called} of the row trigger ${name} of ${table} reads ${variable}: from phase 5 on ` +
      `that is a partition, such as ${table}_tenant_default, and not ${table}.`,
    {
      advice:
        'Where it matters, give the name to the trigger as an argument (TG_ARGV), or let the ' +
        `function take it from ${ROOT_TABLE}, which is the table before and after.`,
    },
  );
}

/** Views that read the tables, also through other views. */
export const views: PreflightCheck = {
  name: 'views',
  scope: 'tables',
  fine: 'No view reads the tables.',
  obstacles: true,
  async run(context) {
    const { executor, facts } = context;
    const found = await readViews(
      executor,
      facts.tables.map(({ oid }) => oid),
    );
    if (found.length === 0) {
      return [];
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
      ...found.flatMap(view => judgeView(view, context)),
    ];
  },
};

/** Reports views that phase 4 changes. */
function judgeView(view: TableView, { facts }: PreflightContext): Outcome[] {
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

/** Objects that depend on the tables and cannot follow the swap of phase 5. */
export const dependents: PreflightCheck = {
  name: 'dependents',
  scope: 'tables',
  fine: 'Nothing depends on the tables that phase 5 would leave behind.',
  obstacles: true,
};

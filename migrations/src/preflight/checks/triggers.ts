import { escapeIdentifier } from '../../sql';
import { failure, ok, warning } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck } from '../PreflightCheck';
import { enumerate, script } from '../../text';

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
  /** What the function calls the table by that it has fired for. */
  readsTable: string | null;
}

const ENABLED: Record<string, string> = {
  A: ', enabled always',
  R: ', enabled for replicas',
  D: ', disabled',
};

// As PL/pgSQL and PL/Tcl have them, and PL/Perl and PL/Python.
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
      ...refused.map(refuse),
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
    return outcomes.length > 0
      ? outcomes
      : [ok('The tables have no triggers.')];
  },
};

function refuse({ name, table }: Trigger): Outcome {
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

/** A row trigger of a partitioned table fires for the partition with the row. */
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

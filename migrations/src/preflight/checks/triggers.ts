import { escapeIdentifier } from '../../schema/sql';
import { failure, ok } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck } from '../PreflightCheck';
import { enumerate, script } from '../text';

interface Trigger {
  name: string;
  /** The name of the table as SQL. */
  table: string;
  /** As pg_trigger has it: O, A, R or D. */
  enabled: string;
  transitionTables: boolean;
  forEachRow: boolean;
}

const ENABLED: Record<string, string> = {
  A: ', enabled always',
  R: ', enabled for replicas',
  D: ', disabled',
};

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
              tgtype & 1 = 1 as "forEachRow"
         from pg_trigger where tgrelid = any ($1) and not tgisinternal
        order by 2, 1`,
      [facts.tables.map(({ oid }) => oid)],
    );
    const refused = found.filter(
      each => each.transitionTables && each.forEachRow,
    );
    const carried = found.filter(each => !refused.includes(each));
    const outcomes: Outcome[] = refused.map(({ name, table }) =>
      failure(
        `The trigger ${name} of ${table} is FOR EACH ROW and has transition tables, ` +
          'which a partitioned table cannot have.',
        {
          advice:
            'Make it FOR EACH STATEMENT, or do without the transition tables.',
          sql: script([`drop trigger ${escapeIdentifier(name)} on ${table}`]),
        },
      ),
    );
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

import { ok, warning } from '../Finding';
import type { Outcome } from '../Finding';
import { obstacleOutcomes } from '../obstacleOutcomes';
import type { PreflightCheck } from '../PreflightCheck';
import { enumerate } from '../../text';

/** Publications and replica identities, which belong to a table and not to its name. */
export const replication: PreflightCheck = {
  name: 'replication',
  scope: 'tables',
  async run(context) {
    const { executor, facts, settings } = context;
    const names = facts.tables.map(({ name }) => name);
    const published = await executor.read<{ name: string; tables: string[] }>(
      `select pubname as name, array_agg(tablename::text order by tablename) as tables
         from pg_publication_tables where schemaname = $1 and tablename = any ($2)
        group by 1 order by 1`,
      [settings.schema, names],
    );
    const identities = await executor.read<{ name: string }>(
      `select relname as name from pg_class
        where oid = any ($1) and relreplident <> 'd' order by 1`,
      [facts.tables.map(({ oid }) => oid)],
    );
    const outcomes: Outcome[] = await obstacleOutcomes(context, 'replication');
    for (const { name, tables } of published) {
      outcomes.push(
        warning(`The publication ${name} has ${enumerate(tables)}.`, {
          advice:
            'The subscribers need the new columns before phase 1. After the swap, see ' +
            'that the publication has the partitioned tables, and refresh the subscriptions.',
        }),
      );
    }
    if (identities.length > 0) {
      outcomes.push(
        warning(
          `The replica identity of ${enumerate(
            identities.map(({ name }) => name),
          )} is not the default.`,
          { advice: 'Set it on the partitioned tables after the swap.' },
        ),
      );
    }
    return outcomes.length > 0
      ? outcomes
      : [
          ok(
            'The tables are not published, and have the default replica identity.',
          ),
        ];
  },
};

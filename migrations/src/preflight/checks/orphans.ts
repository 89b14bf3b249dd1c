import { ENTITY_KEY } from '../../schema/tables';
import { failure, ok } from '../Finding';
import type { Outcome } from '../Finding';
import { hasColumns } from '../hasColumns';
import type { PreflightCheck } from '../PreflightCheck';
import { formatThings, enumerate, script } from '../../text';

const EXAMPLES = 10;

/** Every row of relations and refresh_state is of an entity that exists. */
export const orphans: PreflightCheck = {
  name: 'orphans',
  scope: 'rows',
  async run(context) {
    const { executor, facts } = context;
    const entities = facts.tables.find(({ name }) => name === 'entities');
    const outcomes: Outcome[] = [];
    for (const table of facts.tables) {
      const { name, sql } = table;
      const key = ENTITY_KEY[name];
      const comparable =
        entities &&
        name !== 'entities' &&
        (await hasColumns(context, entities, { entity_id: 'uuid' })) &&
        (await hasColumns(context, table, { [key]: 'uuid' }));
      if (!comparable) {
        continue;
      }
      const orphaned =
        `from ${sql} t where t.${key} is not null and not exists ` +
        `(select from ${entities.sql} e where e.entity_id = t.${key})`;
      const [{ rows, missing, examples }] = await executor.read<{
        rows: number;
        missing: number;
        examples: string[];
      }>(
        `with orphaned as materialized (
           select t.${key}::text as id, count(*) as rows ${orphaned} group by 1)
         select coalesce(sum(rows), 0)::int as rows, count(*)::int as missing,
                array(select id from orphaned order by 1 limit ${EXAMPLES}) as examples
           from orphaned`,
      );
      if (rows > 0) {
        outcomes.push(
          failure(
            `${formatThings(
              rows,
              'row',
            )} of ${name} without an entity; ${key} is ` +
              `${enumerate(examples)}${
                missing > examples.length ? ', …' : ''
              }.`,
            {
              advice: 'Look at these rows, and delete them.',
              sql: script([`select t.* ${orphaned}`, `delete ${orphaned}`]),
              details: examples,
            },
          ),
        );
      }
    }
    return outcomes.length > 0
      ? outcomes
      : [ok('Every row of relations and refresh_state has its entity.')];
  },
};

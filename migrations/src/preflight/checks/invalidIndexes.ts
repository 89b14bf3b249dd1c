import { failure, ok, warning } from '../Finding';
import type { PreflightCheck } from '../PreflightCheck';
import { script } from '../../text';

interface InvalidIndex {
  /** With the schema, as SQL. */
  index: string;
  table: string;
  constraint: boolean;
  /** Its first column is ours: a step that was interrupted builds it again. */
  ours: boolean;
}

/** No index was left unfinished: phase 5 builds the same ones on the new tables. */
export const invalidIndexes: PreflightCheck = {
  name: 'invalid indexes',
  scope: 'tables',
  async run({ executor, facts }) {
    const invalid = await executor.read<InvalidIndex>(
      `select format('%I.%I', n.nspname, c.relname) as index,
              i.indrelid::regclass::text as table,
              exists (select from pg_constraint where conindid = c.oid) as constraint,
              coalesce(a.attname = 'tenant_id', false) as ours
         from pg_index i
         join pg_class c on c.oid = i.indexrelid
         join pg_namespace n on n.oid = c.relnamespace
         left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
        where i.indrelid = any ($1) and not (i.indisvalid and i.indisready)
        order by 1`,
      [facts.tables.map(({ oid }) => oid)],
    );
    if (invalid.length === 0) {
      return [ok('Every index is valid.')];
    }
    return invalid.map(each =>
      each.ours && facts.begunPhase > 0
        ? warning(`The index ${each.index} of ${each.table} is unfinished.`, {
            advice: 'The phase that was building it does so again.',
          })
        : failure(`The index ${each.index} of ${each.table} is invalid.`, {
            advice: each.constraint
              ? 'Build it again.'
              : 'Drop it if it was a leftover, or build it again.',
            sql: script([
              ...(each.constraint
                ? []
                : [`drop index concurrently ${each.index}`]),
              `reindex index concurrently ${each.index}`,
            ]),
          }),
    );
  },
};

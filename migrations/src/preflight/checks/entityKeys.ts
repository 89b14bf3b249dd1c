import { failure, ok } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck } from '../PreflightCheck';
import { script } from '../../text';

/** `entity_id` is the primary key of entities, and `entity_ref` is unique. */
export const entityKeys: PreflightCheck = {
  name: 'keys of entities',
  scope: 'tables',
  async run({ executor, facts }) {
    const entities = facts.tables.find(({ name }) => name === 'entities');
    if (!entities) {
      return [];
    }
    const keys = await executor.read<{ column: string; primary: boolean }>(
      `select a.attname as column, i.indisprimary as primary
         from pg_index i
         join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
        where i.indrelid = $1 and i.indisunique and i.indisvalid
          and i.indimmediate and i.indnkeyatts = 1
          and i.indpred is null and i.indexprs is null`,
      [entities.oid],
    );
    const outcomes: Outcome[] = [];
    if (!keys.some(key => key.primary && key.column === 'entity_id')) {
      outcomes.push(
        failure('entity_id is not the primary key of entities.', {
          advice: 'Make it the primary key.',
          sql: script([
            `create unique index concurrently entities_pkey on ${entities.sql} (entity_id)`,
            `alter table ${entities.sql} add primary key using index entities_pkey`,
          ]),
        }),
      );
    }
    if (!keys.some(key => key.column === 'entity_ref')) {
      outcomes.push(
        failure('entity_ref is not unique in entities.', {
          advice: 'Make it unique, after looking for duplicates.',
          sql: script([
            `select entity_ref, count(*) from ${entities.sql} group by 1 having count(*) > 1`,
            `create unique index concurrently entities_entity_ref_key on ${entities.sql} (entity_ref)`,
          ]),
        }),
      );
    }
    return outcomes.length > 0
      ? outcomes
      : [ok('entity_id is the primary key, and entity_ref is unique.')];
  },
};

import { indexStep } from '../../schema/changes';
import { ENTITY_KEY, REFERENCING_TABLES } from '../../schema/tables';

/**
 * Indexes on the entity of a row, where they are missing: ON DELETE CASCADE and the replay
 * of phase 5 look rows up by it.
 */
export const entityIndexes = indexStep(
  {
    name: '3_15_entity_indexes',
    title: 'Build indexes on the entities of relations and refresh_state',
  },
  REFERENCING_TABLES.map(table => ({
    name: `${table}_tenant_entity_idx`,
    table,
    on: `(tenant_id, ${ENTITY_KEY[table]})`,
  })),
  async ({ executor }, { table }) => {
    const found = await executor.read(
      `select from pg_index i
         join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
        where i.indrelid = to_regclass($1) and i.indisvalid and i.indpred is null
          and a.attname = $2`,
      [table, ENTITY_KEY[table as keyof typeof ENTITY_KEY]],
    );
    return found.length === 0;
  },
);

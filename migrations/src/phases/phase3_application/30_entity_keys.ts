import { constraintStep } from '../../schema/changes';
import { ENTITY_KEY, REFERENCING_TABLES } from '../../schema/tables';

/**
 * Foreign keys on the entity, where they are missing: the partitioned tables accept no row
 * without its entity.
 */
export const entityKeys = constraintStep(
  {
    name: '3_30_entity_keys',
    title: 'Let relations and refresh_state reference their entities',
  },
  REFERENCING_TABLES.map(table => ({
    name: `${table}_entity_fkey`,
    table,
    references: 'entities',
    definition:
      `foreign key (${ENTITY_KEY[table]}) ` +
      'references entities (entity_id) on delete cascade',
  })),
  async ({ executor }, { name, table }) => {
    const others = await executor.read(
      `select from pg_constraint k
        where k.contype = 'f' and k.convalidated and k.conname <> $3
          and k.conrelid = to_regclass($1) and k.confrelid = to_regclass('entities')
          and k.conkey = array(
            select attnum from pg_attribute
             where attrelid = k.conrelid and attname = $2)`,
      [table, ENTITY_KEY[table as keyof typeof ENTITY_KEY], name],
    );
    return others.length === 0;
  },
);

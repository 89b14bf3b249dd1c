import { addConstraint, dropConstraint } from '../../schema/changes';
import type { Executor } from '../../engine/Executor';
import type { Step } from '../../engine/Step';
import { ENTITY_KEY } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';

const REFERENCING = ['relations', 'refresh_state'] as const;

/**
 * Foreign keys on the entity, where they are missing: the partitioned tables accept no row
 * without its entity.
 */
export const entityKeys: Step = {
  name: '3_30_entity_keys',
  title: 'Let relations and refresh_state reference their entities',

  creates: () =>
    REFERENCING.map(table => ({
      kind: 'constraint',
      name: entityKey(table),
      table,
    })),

  async up(context) {
    for (const table of REFERENCING) {
      if (await referencesEntities(context.executor, table)) {
        continue;
      }
      await addConstraint(context, {
        name: entityKey(table),
        table,
        references: 'entities',
        definition:
          `foreign key (${ENTITY_KEY[table]}) ` +
          'references entities (entity_id) on delete cascade',
        locks:
          `SHARE ROW EXCLUSIVE on ${table} and entities, for a change of the ` +
          'catalog: writers wait for it, readers do not, and no row is read.',
      });
    }
  },

  async down(context) {
    for (const table of REFERENCING) {
      await dropConstraint(context, {
        name: entityKey(table),
        table,
        references: 'entities',
        locks: `ACCESS EXCLUSIVE on ${table} and entities, for a change of the catalog.`,
      });
    }
  },
};

function entityKey(table: TenantTable): string {
  return `${table}_entity_fkey`;
}

/** Whether the table has a foreign key on the entity that the migration did not add. */
async function referencesEntities(
  executor: Executor,
  table: TenantTable,
): Promise<boolean> {
  const keys = await executor.read(
    `select from pg_constraint k
      where k.contype = 'f' and k.convalidated and k.conname <> $3
        and k.conrelid = to_regclass($1) and k.confrelid = to_regclass('entities')
        and k.conkey = array(
          select attnum from pg_attribute
           where attrelid = k.conrelid and attname = $2)`,
    [table, ENTITY_KEY[table], entityKey(table)],
  );
  return keys.length > 0;
}

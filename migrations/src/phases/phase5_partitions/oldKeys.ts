import type { Creation, StepContext } from '../../engine/Step';
import { addConstraint, dropIndexConcurrently } from '../../schema/changes';
import { oldName } from '../../schema/partitions';
import { ENTITY_KEY } from '../../schema/tables';

const REFERENCING = ['relations', 'refresh_state'] as const;
const UNIQUE_INDEX = 'entities_tenant_entity_id_key';

const keyName = (table: string) => `${table}_tenant_entity_fkey`;

/**
 * Gives the tables of before the foreign keys on tenant and entity with which a
 * rollback puts them back (specification, Rollback, 2), and the unique index that
 * they need. Nobody uses these tables until then.
 */
export async function addOldKeys(context: StepContext): Promise<void> {
  const entities = oldName('entities');
  await context.executor.execute(
    `create unique index if not exists ${UNIQUE_INDEX} ` +
      `on ${entities} (tenant_id, entity_id)`,
  );
  for (const table of REFERENCING) {
    await addConstraint(context, {
      name: keyName(table),
      table: oldName(table),
      definition:
        `foreign key (tenant_id, ${ENTITY_KEY[table]}) references ${entities} ` +
        '(tenant_id, entity_id) on delete cascade',
      locks: 'SHARE ROW EXCLUSIVE on tables that are not in use.',
    });
  }
}

/** The keys, by the names that the tables have when they are in use again. */
export const oldKeys: Creation[] = [
  { kind: 'relation', name: UNIQUE_INDEX },
  ...REFERENCING.map(
    (table): Creation => ({ kind: 'constraint', name: keyName(table), table }),
  ),
];

/** Takes them from the tables of before, which are in use again. */
export async function dropOldKeys(context: StepContext): Promise<void> {
  for (const table of REFERENCING) {
    await context.executor.transaction({
      title: `Drop the constraint ${keyName(table)} of ${table}`,
      locks: `ACCESS EXCLUSIVE on ${table} and entities, for a change of the catalog.`,
      tables: [table, 'entities'],
      statements: [
        `alter table ${table} drop constraint if exists ${keyName(table)}`,
      ],
    });
  }
  await dropIndexConcurrently(context, UNIQUE_INDEX);
}

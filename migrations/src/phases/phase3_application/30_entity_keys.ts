import { addConstraint, dropConstraint } from '../../schema/changes';
import type { Step } from '../../engine/Step';
import { ENTITY_KEY } from '../../schema/tables';

const REFERENCING = ['relations', 'refresh_state'] as const;

/**
 * The foreign keys on (tenant_id, entity_id), beside those that there are: a
 * relation can no longer be of another tenant than its entity.
 */
export const entityKeys: Step = {
  name: '3_30_entity_keys',
  title: 'Reference entities by tenant and id',

  async up(context) {
    for (const table of REFERENCING) {
      await addConstraint(context, {
        name: `${table}_entity_fkey`,
        table,
        definition:
          `foreign key (tenant_id, ${ENTITY_KEY[table]}) ` +
          'references entities (tenant_id, entity_id) on delete cascade',
        locks:
          `SHARE ROW EXCLUSIVE on ${table} and entities, for a change of the ` +
          'catalog: writers wait for it, readers do not, and no row is read.',
      });
    }
  },

  async down(context) {
    for (const table of REFERENCING) {
      await dropConstraint(context, {
        name: `${table}_entity_fkey`,
        table,
        locks: `ACCESS EXCLUSIVE on ${table} and entities, for a change of the catalog.`,
      });
    }
  },
};

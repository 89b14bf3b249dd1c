import {
  createIndexConcurrently,
  dropIndexConcurrently,
} from '../../schema/changes';
import type { Step } from '../../engine/Step';
import { ENTITY_KEY } from '../../schema/tables';

const REFERENCING = ['relations', 'refresh_state'] as const;

/**
 * Indexes on the entity of a row, where they are missing: ON DELETE CASCADE and the replay
 * of phase 5 look rows up by it.
 */
export const entityIndexes: Step = {
  name: '3_15_entity_indexes',
  title: 'Build indexes on the entities of relations and refresh_state',

  creates: () =>
    REFERENCING.map(table => ({
      kind: 'relation',
      name: `${table}_tenant_entity_idx`,
    })),

  async up(context) {
    for (const table of REFERENCING) {
      const [{ found }] = await context.executor.read<{ found: boolean }>(
        `select exists (
           select from pg_index i
             join pg_attribute a on a.attrelid = i.indrelid and a.attname = $2
            where i.indrelid = to_regclass($1) and i.indisvalid
              and i.indpred is null and i.indkey[0] = a.attnum) as found`,
        [table, ENTITY_KEY[table]],
      );
      if (!found) {
        await createIndexConcurrently(context, {
          name: `${table}_tenant_entity_idx`,
          table,
          on: `(tenant_id, ${ENTITY_KEY[table]})`,
        });
      }
    }
  },

  async down(context) {
    for (const table of REFERENCING) {
      await dropIndexConcurrently(context, `${table}_tenant_entity_idx`);
    }
  },
};

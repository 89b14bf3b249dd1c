import {
  createIndexConcurrently,
  dropIndexConcurrently,
} from '../../schema/changes';
import type { IndexDefinition } from '../../schema/changes';
import type { Step } from '../../engine/Step';

const KEYS: IndexDefinition[] = [
  { name: 'entities_tenant_entity_id_key', on: '(tenant_id, entity_id)' },
  { name: 'entities_tenant_entity_ref_key', on: '(tenant_id, entity_ref)' },
].map(key => ({ ...key, table: 'entities', unique: true }));

/**
 * The keys of the new table, on the one in use: an application that knows tenants
 * names them in ON CONFLICT, before the swap as after it.
 */
export const uniqueKeys: Step = {
  name: '3_10_unique_keys',
  title: 'Make entities unique by tenant and id, and by tenant and reference',

  async up(context) {
    for (const key of KEYS) {
      await createIndexConcurrently(context, key);
    }
  },

  async down(context) {
    for (const { name } of KEYS) {
      await dropIndexConcurrently(context, name);
    }
  },
};

import { findDifferences } from '../../phases/phase5_partitions/90_entity_search/differences';
import { REPAIR } from '../../phases/phase5_partitions/90_entity_search/functions';
import { formatThings } from '../../text';
import type { Check } from '../Check';

const EXAMPLES = 3;

/** What entities are searched by is what they say. */
export const searchTerms: Check = {
  name: 'entity_search holds the terms of the live entities, and no others',
  from: 5,
  async examine({ executor }) {
    let count = 0;
    const repairs: string[] = [];
    await executor.work({
      title: 'Compare the terms with what the entities say',
      script: [],
      async run(session) {
        for await (const { tenant, entity } of findDifferences(session)) {
          count += 1;
          if (repairs.length < EXAMPLES) {
            repairs.push(`select ${REPAIR}('${tenant}', '${entity}');`);
          }
        }
      },
    });
    if (count === 0) {
      return [];
    }
    return [
      `The terms of ${formatThings(
        count,
        'entity',
        'entities',
      )} in entity_search are ` +
        'not those that the entities say. Let whoever owns the tables run for each, ' +
        `with the tenant and the entity: ${repairs.join(' ')}`,
    ];
  },
};

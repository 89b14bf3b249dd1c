import type { Step } from '../../../engine/Step';
import {
  archiveName,
  isSwapped,
  partitionedName,
  waitingName,
} from '../../../schema/partitions';
import {
  dropFunctionStatements,
  FUNCTIONS,
  functionStatements,
} from './functions';
import {
  searchRelations,
  searchTablesStatements,
  TERM_INDEXES,
} from './tables';
import { dropTriggerStatements, triggerStatements } from './triggers';

/**
 * Creates the tables that entities are searched by, with triggers on the partitioned table: the
 * copy of the entities and each replay write their terms, and they are complete at the swap.
 */
export const searchTables: Step = {
  name: '5_15_search_tables',
  title: 'Create the tables that entities are searched by',

  creates: [
    ...searchRelations,
    ...TERM_INDEXES.map(({ name }) => name),
    ...FUNCTIONS,
  ],

  async up({ executor, settings }) {
    const isInUse = await isSwapped(executor);
    const entities = isInUse
      ? 'entities'
      : await waitingName(executor, 'entities');
    await executor.transaction({
      title: 'Create entity_terms and entity_parents',
      ...(isInUse
        ? {
            locks:
              'SHARE ROW EXCLUSIVE on entities, for changes of the catalog: it has no rows yet.',
            tables: ['entities'],
            mode: 'share row exclusive',
          }
        : { locks: 'SHARE ROW EXCLUSIVE on tables that are not in use.' }),
      statements: [
        ...searchTablesStatements,
        ...(await functionStatements(executor, settings.schema)),
        ...triggerStatements(entities),
        // Of live tables they are built behind the copy.
        ...(isInUse ? TERM_INDEXES.map(({ statement }) => statement) : []),
      ],
    });
  },

  async down({ executor }) {
    await executor.transaction({
      title: 'Drop entity_terms and entity_parents',
      locks:
        'ACCESS EXCLUSIVE on entity_terms and entity_parents, which no session writes to any ' +
        'more, and on tables that are not in use.',
      tables: ['entity_terms', 'entity_parents'],
      statements: [
        // Under whichever name they wait.
        ...[partitionedName('entities'), archiveName('entities')].flatMap(
          dropTriggerStatements,
        ),
        'drop table if exists entity_terms, entity_parents',
        ...dropFunctionStatements,
      ],
    });
  },
};

import type { Creation, Step } from '../../../engine/Step';
import {
  dropTableStatements,
  searchRelations,
  tableStatements,
} from './tables';
import { createTerms } from './terms';
import {
  dropTriggerStatements,
  SEARCH_TRIGGERS,
  triggerStatements,
} from './triggers';
import {
  dropFunctionStatements,
  FUNCTIONS,
  functionStatements,
} from './functions';
import { fillTerms, forgetFill } from './fill';

/** The tables that entities are searched by, and what keeps them up to date. */
export const entitySearch: Step = {
  name: '5_90_entity_search',
  title: 'Create the tables that entities are searched by',

  creates: () => [
    ...searchRelations.map((name): Creation => ({ kind: 'relation', name })),
    ...FUNCTIONS.map((name): Creation => ({ kind: 'function', name })),
    ...SEARCH_TRIGGERS.map(
      (name): Creation => ({ kind: 'trigger', name, table: 'entities' }),
    ),
  ],

  async up({ executor, settings }) {
    await executor.transaction({
      title: 'Create entity_search and entity_parents',
      locks: 'New objects: nobody waits for them.',
      statements: [
        ...tableStatements,
        ...functionStatements(settings.schema, await createTerms(executor)),
      ],
    });
    await executor.transaction({
      title: 'Let entities keep their terms',
      locks:
        'SHARE ROW EXCLUSIVE on entities, for a change of the catalog. It waits for ' +
        'the transactions that have written, so that none of them is missed.',
      tables: ['entities'],
      statements: triggerStatements,
    });
  },

  async down({ executor }) {
    await executor.transaction({
      title: 'Let entities keep no terms',
      locks: 'ACCESS EXCLUSIVE on entities, for a change of the catalog.',
      tables: ['entities'],
      statements: dropTriggerStatements,
    });
    await executor.transaction({
      title: 'Drop entity_search and entity_parents',
      locks: 'ACCESS EXCLUSIVE on tables that nobody writes to any more.',
      statements: [...dropTableStatements, ...dropFunctionStatements],
    });
  },
};

/** The terms of the entities that were there before. */
export const entitySearchFill: Step = {
  name: '5_95_entity_search_fill',
  title: 'Fill the tables that entities are searched by',
  up: fillTerms,
  down: forgetFill,
};

import type { Creation, Step } from '../../../engine/Step';
import {
  dropTableStatements,
  SEARCH_INDEXES,
  searchRelations,
  tableStatements,
} from './tables';
import { createTerms } from './terms';
import { dropTriggerStatements, SEARCH_TRIGGERS } from './triggers';
import {
  dropFunctionStatements,
  FILL_FUNCTIONS,
  FUNCTIONS,
  functionStatements,
} from './functions';
import { fillTerms, forgetFill } from './fill';

/**
 * Creates entity_search and entity_parents, and the functions that keep them up to date. The
 * next step creates the triggers, after it has filled the tables.
 */
export const entitySearch: Step = {
  name: '5_90_entity_search',
  title: 'Create the tables that entities are searched by',

  // The undo also drops the objects of the next step.
  creates: () => [
    ...searchRelations.map((name): Creation => ({ kind: 'relation', name })),
    ...[...FUNCTIONS, ...FILL_FUNCTIONS].map(
      (name): Creation => ({ kind: 'function', name }),
    ),
    ...triggerCreations(),
  ],

  async up({ executor, settings }) {
    await executor.transaction({
      title: 'Create entity_search and entity_parents',
      locks: 'New objects, which no session uses yet.',
      statements: [
        ...tableStatements,
        ...functionStatements(settings.schema, await createTerms(executor)),
      ],
    });
  },

  async down({ executor }) {
    await executor.transaction({
      title: 'Drop the triggers that keep the terms',
      locks: 'ACCESS EXCLUSIVE on entities, for a change of the catalog.',
      tables: ['entities'],
      statements: dropTriggerStatements,
    });
    await executor.transaction({
      title: 'Drop entity_search and entity_parents',
      locks: 'ACCESS EXCLUSIVE on tables that no session writes to any more.',
      statements: [...dropTableStatements, ...dropFunctionStatements],
    });
  },
};

/** Fills the tables with the terms of existing entities, and creates the triggers. */
export const entitySearchFill: Step = {
  name: '5_95_entity_search_fill',
  title: 'Fill the tables that entities are searched by',

  creates: () => [
    ...SEARCH_INDEXES.map(({ name }): Creation => ({ kind: 'relation', name })),
    ...FILL_FUNCTIONS.map((name): Creation => ({ kind: 'function', name })),
    ...triggerCreations(),
  ],

  up: fillTerms,
  down: forgetFill,
};

function triggerCreations(): Creation[] {
  return SEARCH_TRIGGERS.map(name => ({
    kind: 'trigger',
    name,
    table: 'entities',
  }));
}

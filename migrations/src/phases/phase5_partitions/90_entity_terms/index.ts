import type { Creation, Step } from '../../../engine/Step';
import {
  parentsRelations,
  parentsStatements,
  TERM_INDEXES,
  termsRelations,
  termsStatements,
} from './tables';
import { createTerms } from './terms';
import { dropTriggerStatements, TERM_TRIGGERS } from './triggers';
import {
  dropFunctionStatements,
  FILL_FUNCTIONS,
  fillFunctionStatements,
  FUNCTIONS,
  functionStatements,
} from './functions';
import { fillTerms, forgetFill } from './fill';

/** Creates entity_parents. */
export const entityParents: Step = {
  name: '5_90_entity_parents',
  title: 'Create the table of which entity has emitted which',

  creates: () =>
    parentsRelations.map((name): Creation => ({ kind: 'relation', name })),

  async up({ executor }) {
    await executor.transaction({
      title: 'Create entity_parents',
      locks: 'A new table, which no session uses yet.',
      statements: parentsStatements,
    });
  },

  async down({ executor }) {
    await executor.transaction({
      title: 'Drop entity_parents',
      locks:
        'ACCESS EXCLUSIVE on entity_parents, which no session writes to any more.',
      tables: ['entity_parents'],
      statements: ['drop table if exists entity_parents'],
    });
  },
};

/**
 * Creates entity_terms, and the functions that keep it up to date. A later step creates the
 * triggers, after it has filled the table.
 */
export const entityTerms: Step = {
  name: '5_91_entity_terms',
  title: 'Create the table that entities are searched by',

  // The undo also drops the objects of the step that fills it.
  creates: () => [
    ...termsRelations.map((name): Creation => ({ kind: 'relation', name })),
    ...[...FUNCTIONS, ...FILL_FUNCTIONS].map(
      (name): Creation => ({ kind: 'function', name }),
    ),
    ...triggerCreations(),
  ],

  async up(context) {
    const { executor, settings } = context;
    await executor.transaction({
      title: 'Create entity_terms',
      locks: 'New objects, which no session uses yet.',
      statements: [
        ...termsStatements,
        ...functionStatements(settings.schema, await createTerms(executor)),
        // With the table: as long as there are these functions, it is not filled.
        ...fillFunctionStatements(settings.schema),
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
      title: 'Drop entity_terms',
      locks:
        'ACCESS EXCLUSIVE on entity_terms, which no session writes to any more.',
      tables: ['entity_terms'],
      statements: [
        'drop table if exists entity_terms',
        ...dropFunctionStatements,
      ],
    });
  },
};

/** Fills entity_terms with the terms of existing entities, and creates the triggers. */
export const entityTermsFill: Step = {
  name: '5_96_entity_terms_fill',
  title: 'Fill the table that entities are searched by',

  creates: () => [
    ...TERM_INDEXES.map(({ name }): Creation => ({ kind: 'relation', name })),
    ...FILL_FUNCTIONS.map((name): Creation => ({ kind: 'function', name })),
    ...triggerCreations(),
  ],

  up: fillTerms,
  down: forgetFill,
};

function triggerCreations(): Creation[] {
  return TERM_TRIGGERS.map(name => ({
    kind: 'trigger',
    name,
    table: 'entities',
  }));
}

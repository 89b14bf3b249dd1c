import type { Creation } from '../../../engine/Step';
import { STATE_TABLE } from '../../../engine/MigrationState';
import { EARLIER_SEARCH_TABLE as TABLE } from '../../../schema/tables';

// What versions before entity_terms created in its place. Its keys are written out, and its
// values are there twice, so that it is twice as large.

const INDEXES = ['entity_key_value', 'key_value_entity', 'facets'].map(
  name => `${TABLE}_${name}_idx`,
);

const TRIGGERS = ['insert', 'update', 'delete', 'truncate'].map(
  event => `${TABLE}_${event}`,
);

/** Its triggers call it: where it is, the table is ours, and kept up to date. */
export const EARLIER_FOLLOW = `${TABLE}_follow()`;

const FUNCTIONS = [
  EARLIER_FOLLOW,
  `${TABLE}_repair(uuid, uuid)`,
  `${TABLE}_sync(uuid, uuid[], jsonb[])`,
  `${TABLE}_terms(jsonb, uuid)`,
  `${TABLE}_fill(uuid, uuid, uuid, int)`,
  `${TABLE}_fill(uuid, uuid, int)`,
  `${TABLE}_catch_up(uuid, uuid[])`,
];

export const earlierCreations: Creation[] = [
  ...[TABLE, ...INDEXES].map((name): Creation => ({ kind: 'relation', name })),
  ...FUNCTIONS.map((name): Creation => ({ kind: 'function', name })),
  ...TRIGGERS.map(
    (name): Creation => ({ kind: 'trigger', name, table: 'entities' }),
  ),
];

/** The statements that drop all of it. */
export const dropEarlierStatements = [
  ...TRIGGERS.map(name => `drop trigger if exists ${name} on entities`),
  `drop table if exists ${TABLE}`,
  ...FUNCTIONS.map(signature => `drop function if exists ${signature}`),
];

/** The statement that forgets how far it was filled. */
export const forgetEarlierFill = `delete from ${STATE_TABLE} where key = 'phase5.search' or key like 'phase5.search:%'`;

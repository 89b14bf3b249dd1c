import { FOLLOW } from './functions';

/** The triggers, and the statements that they fire after. */
const TRIGGERS: Record<string, string> = {
  entity_search_insert: 'insert on entities referencing new table as new_rows',
  entity_search_update:
    'update on entities referencing old table as old_rows new table as new_rows',
  entity_search_delete: 'delete on entities referencing old table as old_rows',
  entity_search_truncate: 'truncate on entities',
};

/** The names of the triggers. */
export const SEARCH_TRIGGERS = Object.keys(TRIGGERS);

/**
 * The statements that let every change of entities change their terms, in the same
 * transaction and with one call for each statement, whoever runs it.
 *
 * Triggers of statements fire for the table that a statement names: what moves rows
 * between partitions names those, and the terms stay, as the rows do.
 */
export const triggerStatements = Object.entries(TRIGGERS).flatMap(
  ([name, event]) => [
    `create or replace trigger ${name} after ${event}
  for each statement execute function ${FOLLOW}()`,
    // Also in a session that plays a replica.
    `alter table entities enable always trigger ${name}`,
  ],
);

export const dropTriggerStatements = SEARCH_TRIGGERS.map(
  name => `drop trigger if exists ${name} on entities`,
);

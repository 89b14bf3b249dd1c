import { FOLLOW } from './functions';

/** The triggers, and the statements that they fire after. */
const TRIGGERS: Record<string, string> = {
  entity_terms_insert: 'insert on entities referencing new table as new_rows',
  entity_terms_update:
    'update on entities referencing old table as old_rows new table as new_rows',
  entity_terms_delete: 'delete on entities referencing old table as old_rows',
  entity_terms_truncate: 'truncate on entities',
};

/** The names of the triggers. */
export const TERM_TRIGGERS = Object.keys(TRIGGERS);

/**
 * The statements that create the triggers: every change of entities, by any role, changes
 * their terms in the same transaction, with one call for each statement.
 *
 * Statement triggers fire for the table that a statement names. Moves of rows between
 * partitions name the partitions, so they leave the terms alone.
 */
export const triggerStatements = Object.entries(TRIGGERS).flatMap(
  ([name, event]) => [
    `create or replace trigger ${name} after ${event}
  for each statement execute function ${FOLLOW}()`,
    // Also with session_replication_role = replica.
    `alter table entities enable always trigger ${name}`,
  ],
);

export const dropTriggerStatements = TERM_TRIGGERS.map(
  name => `drop trigger if exists ${name} on entities`,
);

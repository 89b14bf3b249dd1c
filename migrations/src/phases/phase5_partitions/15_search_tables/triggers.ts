import { FOLLOW } from './functions';

/** The triggers, with the tables of changed rows that each of them names. */
const TRIGGERS: Record<string, string> = {
  insert: 'referencing new table as new_rows',
  update: 'referencing old table as old_rows new table as new_rows',
  delete: 'referencing old table as old_rows',
  truncate: '',
};

const nameOf = (event: string) => `entity_terms_${event}`;

/** The names of the triggers. */
export const TERM_TRIGGERS = Object.keys(TRIGGERS).map(nameOf);

/**
 * The statements that create the triggers: every change of the table, by any role, changes
 * the terms in the same transaction, with one call for each statement.
 *
 * Statement triggers fire for the table that a statement names. Moves of rows between
 * partitions name the partitions, so they leave the terms alone.
 *
 * @param table - `entities` by its name at this moment
 */
export function triggerStatements(table: string): string[] {
  return Object.entries(TRIGGERS).flatMap(([event, rows]) => [
    `create or replace trigger ${nameOf(
      event,
    )} after ${event} on ${table} ${rows}
  for each statement execute function ${FOLLOW}()`,
    // Also with session_replication_role = replica.
    `alter table ${table} enable always trigger ${nameOf(event)}`,
  ]);
}

/** The statements that drop the triggers of a table, if it exists. */
export function dropTriggerStatements(table: string): string[] {
  return TERM_TRIGGERS.map(
    name => `drop trigger if exists ${name} on ${table}`,
  );
}

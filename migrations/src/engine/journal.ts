import { escapeLiteral } from '../sql';
import type { Executor } from './Executor';
import { STATE_TABLE } from './MigrationState';
import type { Step } from './Step';

// Names of our own: the default ones are Backstage's catalog's, which refuses to
// start when it finds migrations there that it does not know.
export const MIGRATIONS_TABLE = 'tenancy_migrations';
export const LOCK_TABLE = 'tenancy_migrations_lock';

/** The tables of the migration itself. */
export const bookkeepingTables = [MIGRATIONS_TABLE, LOCK_TABLE, STATE_TABLE];

/** A step that is done. */
export interface StepRecord {
  name: string;
  time: Date;
}

/** The steps that are done and when they were, in their order. */
export async function readStepRecords(
  executor: Executor,
): Promise<StepRecord[]> {
  const [{ exists }] = await executor.read<{ exists: boolean }>(
    `select to_regclass('${MIGRATIONS_TABLE}') is not null as exists`,
  );
  if (!exists) {
    return [];
  }
  return executor.read<StepRecord>(
    `select name, migration_time as time from ${MIGRATIONS_TABLE} order by id`,
  );
}

/** The names of the steps that are done, in their order. */
export async function readCompletedSteps(
  executor: Executor,
): Promise<string[]> {
  const records = await readStepRecords(executor);
  return records.map(({ name }) => name);
}

/** The statements that record a step in a script that is run by hand. */
export function recordStatement(step: Step): string {
  return (
    `insert into ${MIGRATIONS_TABLE} (name, batch, migration_time) values ` +
    `(${escapeLiteral(step.name)}, 1, now())`
  );
}

/** The counterpart of {@link recordStatement} for a step that is undone. */
export function forgetStatement(step: Step): string {
  return `delete from ${MIGRATIONS_TABLE} where name = ${escapeLiteral(
    step.name,
  )}`;
}

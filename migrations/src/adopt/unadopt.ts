import { bookkeepingTables, readCompletedSteps } from '../engine/journal';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { relationExists } from '../schema/lookups';
import { TENANT_TABLES } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { ENGINE_TABLES, engineTable } from './engine';
import { dropFunctions, dropTriggers } from './objects';
import { asLogin } from './rights';
import { ADOPTION_STATE, FAULTS, readState } from './state';

export interface UnadoptOptions {
  /** Keeps the tables with the rows that were carried. */
  keepTables?: boolean;
}

/**
 * Ends an adoption, and drops what it created. Tables from before it stay, empty.
 *
 * @returns whether there was anything to undo
 * @throws {@link RefusedError} while steps of phases are done, unless the tables are kept
 */
export async function unadopt(
  context: StepContext,
  { keepTables = false }: UnadoptOptions = {},
): Promise<boolean> {
  const { executor, settings } = context;
  const { engine, created, grants = [] } = await readState(executor);
  if (!engine && !created) {
    return false;
  }
  if (!keepTables) {
    await refuseAfterPhases(context);
  }
  for (const table of engine ? ENGINE_TABLES : []) {
    const name = engineTable(engine!, table);
    await asLogin(context, () =>
      executor.transaction({
        title: `Carry the changes of ${name} no more`,
        locks: `ACCESS EXCLUSIVE on ${name}, for a change of the catalog: no row is touched.`,
        tables: [name],
        statements: dropTriggers(engine!, table),
      }),
    );
  }
  const ourTables = keepTables
    ? []
    : await takeBackTables(executor, created?.tables === true);
  await asLogin(context, () =>
    executor.transaction({
      title: 'Drop what has carried changes',
      locks: 'ACCESS EXCLUSIVE on tables that no session uses.',
      statements: [
        ...dropFunctions,
        ...[...grants].reverse(),
        `drop table if exists ${FAULTS}, ${ADOPTION_STATE}`,
        ...ourTables,
        ...(created?.schema && !keepTables
          ? [dropSchema(settings.schema)]
          : []),
      ],
    }),
  );
  return true;
}

/**
 * Drops the tables that the adoption created; deletes all rows of those from before it:
 * until phase 1 there is no other tenant. No step is recorded at this point, so the
 * migration's own tables go too.
 */
async function takeBackTables(
  executor: Executor,
  created: boolean,
): Promise<string[]> {
  const statements: string[] = [];
  for (const table of [...TENANT_TABLES].reverse()) {
    if (created) {
      statements.push(`drop table if exists ${table}`);
    } else if (await relationExists(executor, table)) {
      statements.push(`delete from ${table}`);
    }
  }
  return [
    ...statements,
    `drop table if exists ${bookkeepingTables.join(', ')}`,
  ];
}

/** Drops the schema, unless it holds foreign objects. */
function dropSchema(schema: string): string {
  return `do $$ begin
  drop schema ${escapeIdentifier(schema)};
exception when dependent_objects_still_exist then
  null;
end $$`;
}

async function refuseAfterPhases({ executor }: StepContext): Promise<void> {
  const steps = await readCompletedSteps(executor);
  if (steps.length > 0) {
    throw new RefusedError(
      `Phase ${steps[steps.length - 1].slice(
        0,
        1,
      )} of the migration has begun, and its ` +
        'tables are those that the catalog is carried to. Undo the phases first ' +
        `(${operatorCommand('rollback', '--to 0')}), or give --keep-tables, ` +
        'which only stops carrying.',
    );
  }
}

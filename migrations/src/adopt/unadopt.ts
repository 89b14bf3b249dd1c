import { bookkeepingTables, readCompletedSteps } from '../engine/journal';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { refuseDependentsOf } from '../schema/dependents';
import { columnExists, relationExists } from '../schema/lookups';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { enumerate, formatThings } from '../text';
import {
  adoptCommand,
  describeTenant,
  ENGINE_TABLES,
  engineTable,
  findEngines,
} from './engine';
import type { Engine } from './engine';
import type { AdoptedTenant } from './adopt';
import { DROP_SHARED, dropTriggers } from './objects';
import { dropQuotaStatement } from './functions/quota';
import { bringAdoptionAlong } from './prepare';
import { asLogin } from './rights';
import {
  adoptedEngines,
  ADOPTION_STATE,
  FAULTS,
  PARENTS,
  readState,
} from './state';

export interface UnadoptOptions extends AdoptedTenant {
  /** Keeps the tables with the rows that were carried. */
  keepTables?: boolean;
}

/**
 * Ends the adoption of a tenant's engine, by default the default tenant's, and drops what it
 * created. Tables from before it stay, without the tenant's rows.
 *
 * What all tenants use goes with the last of them, and stays while phase 5, which prepares
 * it, is complete.
 *
 * @returns whether there was anything to undo
 * @throws {@link RefusedError} for the default tenant, while steps of phases are done or
 *   other tenants have engines, unless the tables are kept
 */
export async function unadopt(
  context: StepContext,
  {
    tenantId = DEFAULT_TENANT_ID,
    slug,
    keepTables = false,
  }: UnadoptOptions = {},
): Promise<boolean> {
  const { executor, settings } = context;
  const { engine, created, prepared } = await readState(executor, tenantId);
  if (!engine && !created) {
    return false;
  }
  const others = (await adoptedEngines(context)).filter(
    other => other.tenantId !== tenantId,
  );
  const isDefault = tenantId === DEFAULT_TENANT_ID;
  if (isDefault && !keepTables) {
    await refuseAfterPhases(context);
    refuseBesideOthers(others);
  }
  const isShared = prepared || others.length > 0;
  const dropped = [
    ...(created?.tables && isDefault && !keepTables ? TENANT_TABLES : []),
    ...(isDefault && !isShared ? [FAULTS, ADOPTION_STATE] : []),
  ];
  await refuseDependentsOf(
    executor,
    dropped,
    keepTables ? [] : [...TENANT_TABLES, PARENTS],
  );
  await bringAdoptionAlong(context);
  if (engine) {
    await stopCarrying(context, { ...engine, tenantId, slug });
  }
  if (!isDefault || isShared) {
    await executor.transaction({
      title: 'Forget the adoption of the tenant',
      locks: `The tenant's rows${keepTables ? ' of the adoption' : ''}.`,
      statements: [
        ...(keepTables || isDefault ? [] : await deleteRows(context, tenantId)),
        `delete from ${FAULTS} where tenant_id = ${escapeLiteral(tenantId)}`,
        `delete from ${ADOPTION_STATE} where tenant_id = ${escapeLiteral(
          tenantId,
        )} and key <> 'prepared'`,
      ],
    });
    return true;
  }
  const ourTables = keepTables
    ? []
    : await takeBackTables(executor, created?.tables === true);
  await asLogin(context, () =>
    executor.transaction({
      title: 'Drop what has carried changes',
      locks: `ACCESS EXCLUSIVE on ${dropped.join(
        ', ',
      )}, which no session uses any more.`,
      tables: dropped,
      statements: [
        ...DROP_SHARED,
        ...ourTables,
        ...(created?.schema && !keepTables
          ? [dropSchema(settings.schema)]
          : []),
      ],
    }),
  );
  return true;
}

/** Drops the triggers of an engine, and takes back what was granted for them. */
async function stopCarrying(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const { executor, reporter } = context;
  const engines = await findEngines(context, engine.tenantId);
  if (!engines.some(({ schema }) => schema === engine.schema)) {
    reporter.warn(
      `The tables of the engine of ${describeTenant(
        engine,
      )} are gone from the schema ` +
        `"${engine.schema}", and their triggers with them.`,
    );
    return;
  }
  for (const table of ENGINE_TABLES) {
    const name = engineTable(engine, table);
    await asLogin(context, () =>
      executor.transaction({
        title: `Carry the changes of ${name} no more`,
        locks: `ACCESS EXCLUSIVE on ${name}, for a change of the catalog: no row is touched.`,
        tables: [name],
        statements: dropTriggers(engine, table),
      }),
    );
  }
  const { grants = [] } = await readState(executor, engine.tenantId);
  await asLogin(context, () =>
    executor.transaction({
      title: 'Take back what was granted for it',
      locks: 'Privileges need no lock on a table.',
      statements: [
        ...[...grants].reverse(),
        dropQuotaStatement(escapeIdentifier(engine.schema)),
      ],
    }),
  );
}

/** The statements that delete the rows of another tenant than the default one. */
async function deleteRows(
  { executor }: StepContext,
  tenantId: string,
): Promise<string[]> {
  const tables = [PARENTS, ...[...TENANT_TABLES].reverse()];
  const statements: string[] = [];
  for (const table of tables) {
    // Before phase 5 there are no rows of other tenants.
    if (await columnExists(executor, table, 'tenant_id')) {
      statements.push(
        `delete from ${table} where tenant_id = ${escapeLiteral(tenantId)}`,
      );
    }
  }
  return statements;
}

function refuseBesideOthers(others: Engine[]): void {
  if (others.length > 0) {
    throw new RefusedError(
      `The engines of ${formatThings(
        others.length,
        'tenant',
      )} use the same tables: ` +
        `${enumerate(
          others.map(other => adoptCommand(other, 'unadopt')),
        )}. Undo these first, or give --keep-tables, which only stops carrying.`,
    );
  }
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

import type { StepContext } from '../engine/Step';
import { refuseDependentsOf } from '../schema/dependents';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../sql';
import {
  describeTenant,
  ENGINE_TABLES,
  engineTable,
  findEngines,
} from './engine';
import type { AdoptedTenant, Engine } from './engine';
import { dropQuotaStatement, QUOTA_SEQUENCE } from './quota';
import { dropTriggers } from './triggers';
import { asLogin } from './rights';
import { describeEngines } from './status';
import {
  adoptedEngine,
  ADOPTION_STATE,
  FAULTS,
  PARENTS,
  readState,
} from './state';

/**
 * Ends the adoption of a tenant's engine, by default the default tenant's: drops its triggers,
 * takes back what was granted for them, and deletes what was carried.
 *
 * @returns whether there was anything to undo
 */
export async function unadopt(
  context: StepContext,
  { tenantId = DEFAULT_TENANT_ID, slug }: AdoptedTenant = {},
): Promise<boolean> {
  const engine = await adoptedEngine(context, tenantId);
  if (!engine) {
    return false;
  }
  const carried = [PARENTS, ...[...TENANT_TABLES].reverse()];
  await refuseDependentsOf(context.executor, [], carried);
  await end(context, { ...engine, slug }, carried);
  return true;
}

/** Ends all adoptions, and leaves what was carried to the tables that are undone next. */
export async function unadoptAll(context: StepContext): Promise<void> {
  for (const engine of await describeEngines(context)) {
    await end(context, engine, []);
  }
}

/** @param emptied - the tables whose rows of the tenant go, referencing before referenced */
async function end(
  context: StepContext,
  engine: Engine,
  emptied: string[],
): Promise<void> {
  await stopCarrying(context, engine);
  const tenant = escapeLiteral(engine.tenantId);
  await context.executor.transaction({
    title: `Forget the adoption of ${describeTenant(engine)}`,
    locks: `The tenant's rows of ${[...emptied, FAULTS, ADOPTION_STATE].join(
      ', ',
    )}.`,
    statements: [
      ...[...emptied, FAULTS].map(
        table => `delete from ${table} where tenant_id = ${tenant}`,
      ),
      `delete from ${ADOPTION_STATE} where tenant_id = ${tenant} and key <> 'created'`,
    ],
  });
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
        // Those on the sequence go with it: it is gone where the command was stopped behind this.
        ...grants.filter(each => !each.includes(QUOTA_SEQUENCE)).reverse(),
        dropQuotaStatement(escapeIdentifier(engine.schema)),
      ],
    }),
  );
}

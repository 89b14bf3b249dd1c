import type { StepContext } from '../engine/Step';
import { ADMIN_ROLE } from '../roles';
import { refuseDependentsOf } from '../schema/dependents';
import { unlessGone } from '../schema/grants';
import { DEFAULT_TENANT_ID, TENANT_TABLES } from '../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { describeTenant, ENGINE_TABLES, engineTable } from './engine';
import type { AdoptedTenant, Engine, EngineTable } from './engine';
import { dropQuotaStatement } from './quota';
import { dropTriggers } from './triggers';
import { asLogin, privilegesOnTable, schemaUsage } from './rights';
import { describeEngines } from './status';
import {
  adoptedEngine,
  ADOPTION_STATE,
  FAULTS,
  PARENTS,
  putState,
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
  const { schema, tenantId } = engine;
  await context.executor.execute(
    putState(tenantId, 'engine', { schema, ending: true }),
  );
  await stopCarrying(context, engine);
  const tenant = escapeLiteral(tenantId);
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
  // Those of another version of the catalog may lack columns, or be gone.
  const tables = await executor.read<{ table: EngineTable }>(
    `select r.relname as table from pg_class r join pg_namespace n on n.oid = r.relnamespace
      where n.nspname = $1 and r.relname = any ($2) and r.relkind = 'r'
      order by array_position($2, r.relname::text)`,
    [engine.schema, ENGINE_TABLES],
  );
  if (tables.length === 0) {
    reporter.warn(
      `The tables of the engine of ${describeTenant(
        engine,
      )} are gone from the schema ` +
        `"${engine.schema}", and their triggers with them.`,
    );
  }
  for (const { table } of tables) {
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
  // Those on the sequence go with it.
  const privileges = [
    schemaUsage(engine),
    ...tables.flatMap(({ table }) => privilegesOnTable(engine, table)),
  ];
  await asLogin(context, () =>
    executor.transaction({
      title: 'Take back what was granted for it',
      locks:
        'None on tables: privileges, and a sequence that nothing uses any more.',
      statements: [
        ...privileges
          .map(each => `revoke ${each} from ${ADMIN_ROLE}`)
          .filter(each => grants.includes(each))
          .reverse()
          .map(unlessGone),
        dropQuotaStatement(escapeIdentifier(engine.schema)),
      ],
    }),
  );
}

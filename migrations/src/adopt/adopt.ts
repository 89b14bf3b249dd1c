import type { StepContext } from '../engine/Step';
import { explainTaken } from '../engine/ownership';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { createCatalogTables, isFreshDatabase } from '../schema/catalogTables';
import { relationExists } from '../schema/lookups';
import { revokeAllStatement } from '../schema/grants';
import { escapeIdentifier } from '../sql';
import { formatThings } from '../text';
import { ownRows } from './compare';
import { COPY_IS_DONE, copyEntities, fillParents } from './copy';
import { ENGINE_TABLES, engineTable, requireEngine } from './engine';
import type { Engine } from './engine';
import {
  CREATE_FAULTS,
  CREATE_STATE,
  createFunctions,
  createTriggers,
  tablesWithoutTriggers,
  takenAdoptionNames,
} from './objects';
import { reconcileEntities } from './reconcile';
import {
  asLogin,
  followOwner,
  reading,
  refuseMissingRights,
  refuseOthersTables,
} from './rights';
import {
  adoptedEngine,
  ADOPTION_STATE,
  FAULTS,
  PARENTS,
  putState,
  readState,
} from './state';

/**
 * Adopts the catalog of the engine in this database: its entities become those of the
 * default tenant, and triggers carry every later change. It can be repeated at any time:
 * it resumes where it was stopped, and retries adoption faults.
 *
 * @throws {@link RefusedError} if there is no such catalog, if the login does not own its
 *   tables, or if entities would be lost
 */
export async function adopt(context: StepContext): Promise<Engine> {
  const { executor } = context;
  const engine = await requireEngine(context);
  await refuseAnother(context, engine);
  await refuseOthersNames(context);
  await refuseOthersTables(context, engine);
  await refuseEntities(context, engine);
  await refuseMissingRights(context, engine);
  await install(context, engine);
  await copyEntities(context, engine);
  await reconcileEntities(context, engine);
  if (await relationExists(executor, PARENTS)) {
    await fillParents(context, engine);
  }
  await executor.execute(COPY_IS_DONE);
  return engine;
}

/**
 * The rows that an adoption deletes, a sentence for each: entities of the default
 * tenant that the catalog does not have.
 *
 * @throws {@link RefusedError} if there is no such catalog
 */
export async function readAdoptionLosses(
  context: StepContext,
): Promise<string[]> {
  const engine = await requireEngine(context);
  const others = await countOtherEntities(context, engine);
  return others > 0
    ? [
        `entities: ${formatThings(
          others,
          'entity',
          'entities',
        )} of the default ` + 'tenant, which the catalog does not have',
      ]
    : [];
}

async function refuseAnother(
  context: StepContext,
  { schema }: Engine,
): Promise<void> {
  const adopted = await adoptedEngine(context);
  if (adopted && adopted.schema !== schema) {
    throw new RefusedError(
      `The catalog in the schema "${adopted.schema}" is adopted already, and not the ` +
        `one in "${schema}". Undo that first (${operatorCommand('unadopt')}).`,
    );
  }
}

async function refuseOthersNames(context: StepContext): Promise<void> {
  const taken = await takenAdoptionNames(context);
  if (taken.length > 0) {
    throw new RefusedError(explainTaken(taken));
  }
}

/** An adoption removes the entities of the default tenant that the engine lacks. */
async function refuseEntities(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  if (context.settings.force) {
    return;
  }
  const others = await countOtherEntities(context, engine);
  if (others > 0) {
    throw new RefusedError(
      `The default tenant has ${formatThings(
        others,
        'entity',
        'entities',
      )} that the ` +
        'catalog does not have. The adoption would remove them, because it makes the ' +
        'tenant equal to the catalog: delete them, or give --force.',
    );
  }
}

/** Entities of the default tenant that the engine does not have, before it owns them. */
async function countOtherEntities(
  context: StepContext,
  engine: Engine,
): Promise<number> {
  const { executor } = context;
  if (
    (await adoptedEngine(context)) ||
    !(await relationExists(executor, 'entities'))
  ) {
    return 0;
  }
  const own = await ownRows(executor, 'entities');
  const entities = await executor.read<{ id: string }>(
    `select e.entity_id::text as id from entities e where ${own('e')}`,
  );
  if (entities.length === 0) {
    return 0;
  }
  // Two queries: before an adoption portal_admin has no right to the engine's table, and
  // the login none to ours.
  const [{ others }] = await reading(context, engine, () =>
    executor.read<{ others: number }>(
      `select count(*)::int as others from unnest($1::text[]) as ours (id)
        where not exists (select from ${engineTable(
          engine,
          'final_entities',
        )} f where f.entity_id = ours.id)`,
      [entities.map(({ id }) => id)],
    ),
  );
  return others;
}

/**
 * Creates the functions and triggers that carry the engine's changes. Repeating it
 * replaces the functions, and restores triggers that were dropped or disabled.
 */
async function install(context: StepContext, engine: Engine): Promise<void> {
  const { executor, settings } = context;
  await createTables(context);
  await executor.transaction({
    title: 'Create the functions that carry changes',
    locks: 'New objects, which no session uses yet.',
    statements: [
      ...CREATE_FAULTS,
      CREATE_STATE,
      // Faults name entities, and no policy protects the table.
      revokeAllStatement(FAULTS),
      revokeAllStatement(ADOPTION_STATE),
      putState('engine', engine),
      ...createFunctions({ schema: settings.schema, engine }),
    ],
  });
  await followOwner(context, { engine });
  // final_entities last: an entity brings its relations and refresh state.
  for (const table of executor.dryRun
    ? ENGINE_TABLES
    : await tablesWithoutTriggers(executor, engine)) {
    const name = engineTable(engine, table);
    await asLogin(context, () =>
      executor.transaction({
        title: `Carry the changes of ${name}`,
        locks:
          `SHARE ROW EXCLUSIVE on ${name}, for a change of the catalog. It waits for ` +
          'the transactions that have written, so that none of them is missed.',
        tables: [name],
        statements: createTriggers(engine, table),
      }),
    );
  }
}

async function createTables(context: StepContext): Promise<void> {
  const { executor, settings } = context;
  if (!(await isFreshDatabase(context))) {
    return;
  }
  const name = escapeIdentifier(settings.schema);
  const { created } = await readState(executor);
  const [{ missing }] = await executor.read<{ missing: boolean }>(
    'select not exists (select from pg_namespace where nspname = $1) as missing',
    [settings.schema],
  );
  await executor.transaction({
    title: 'Remember what is created',
    locks: 'New objects, which no session uses yet.',
    statements: [
      ...(missing ? [`create schema ${name}`] : []),
      CREATE_STATE,
      // Recorded before the tables exist: unadopt also undoes a command that was killed.
      putState('created', { schema: created?.schema ?? missing, tables: true }),
    ],
  });
  await createCatalogTables(context);
}

import type { StepContext } from '../engine/Step';
import { explainTaken } from '../engine/ownership';
import { RefusedError } from '../errors';
import { relationExists } from '../schema/lookups';
import { formatThings } from '../text';
import { COPY_IS_DONE, copyEntities } from './copy';
import { ownRows } from './differences';
import { engineTable, requireEngine } from './engine';
import type { Engine } from './engine';
import { install } from './install';
import { PARENTS } from './names';
import { reading, refuseMissingRights, refuseOthersTables } from './rights';
import { fillParents } from './parents';
import { settleEntities } from './reconcile';
import { adoptedEngine } from './state';
import { takenAdoptionNames } from './takenNames';
import { operatorCommand } from '../operatorCommand';

/**
 * Adopts the catalog of the engine in this database: its entities become those of the default
 * tenant, and follow it from then on. It can be repeated at any time, and goes on where it
 * was stopped; it then tries again what was kept aside.
 *
 * @throws {@link RefusedError} if there is no such catalog, if its tables are not the
 *   login's, or if entities would be lost
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
  await settleEntities(context, engine);
  if (await relationExists(executor, PARENTS)) {
    await fillParents(context, engine);
  }
  await executor.execute(COPY_IS_DONE);
  return engine;
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

/**
 * What an adoption deletes that is nowhere else, a sentence for each: entities of the
 * default tenant that the catalog does not have.
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

/** The engine owns the entities of the default tenant: any others are removed. */
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
  // In two steps: before an adoption portal_admin, as which this may act, may not read
  // the engine's table, and the login may not read ours.
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

import type { StepContext } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { requireLayout } from '../phases/create';
import { ADMIN_ROLE } from '../roles';
import { refuseWhileDropping } from '../schema/createdCatalog';
import { isSwapped } from '../schema/partitions';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { formatThings } from '../text';
import { copyEntities, fillParents } from './copy';
import {
  adoptCommand,
  describeTenant,
  engineTable,
  requireEngine,
} from './engine';
import type { AdoptedTenant, Engine } from './engine';
import { createQuotaStatement, QUOTA_SEQUENCE } from './quota';
import {
  createTriggerStatements,
  enableTriggers,
  otherAdoption,
  tablesWithoutTriggers,
} from './triggers';
import { bringAdoptionAlong } from './functions';
import { reconcileEntities } from './reconcile';
import {
  asLogin,
  describeHiddenRows,
  grantOnEngine,
  privilegesOnTable,
  quotaPrivilege,
  reading,
  refuseMissingRights,
  refuseOthersTables,
} from './rights';
import { adoptedEngine, putState } from './state';

/**
 * Adopts the catalog of an engine in this database: its entities become those of the
 * tenant, by default the default one, and triggers carry every later change. For the default
 * tenant it runs the phases that are missing, on tables that it creates empty. It can be
 * repeated at any time: it resumes where it was stopped, and retries adoption faults.
 *
 * @throws {@link RefusedError} if there is no such catalog, if the login does not own its
 *   tables, or if entities would be lost
 */
export async function adopt(
  migration: TenancyMigration,
  { tenantId = DEFAULT_TENANT_ID, slug }: AdoptedTenant = {},
): Promise<Engine> {
  const { context } = migration;
  await refuseWhileDropping(context);
  const engine = { ...(await requireEngine(context, tenantId)), slug };
  await refuseOthersTables(context, engine);
  await refuseAnother(context, engine);
  if (tenantId === DEFAULT_TENANT_ID && !(await requireLayout(migration))) {
    return engine;
  }
  await refuseLosses(context, engine);
  await refuseMissingRights(context, engine);
  const hidden = await describeHiddenRows(context, engine);
  if (hidden) {
    throw new RefusedError(hidden);
  }
  await install(context, engine);
  // Behind the triggers, until both sides are equal.
  await copyEntities(context, engine);
  await reconcileEntities(context, engine);
  await fillParents(context, engine);
  // Both sides were equal once.
  await context.executor.execute(
    putState(tenantId, 'copy', { after: '', done: true }),
  );
  return engine;
}

/**
 * The rows that an adoption deletes, a sentence for each: entities of the tenant that the
 * catalog does not have.
 *
 * @throws {@link RefusedError} if there is no such catalog
 */
export async function readAdoptionLosses(
  context: StepContext,
  { tenantId = DEFAULT_TENANT_ID, slug }: AdoptedTenant = {},
): Promise<string[]> {
  const engine = { ...(await requireEngine(context, tenantId)), slug };
  const others = await countOtherEntities(context, engine);
  const entities = formatThings(others, 'entity');
  return others > 0
    ? [
        `entities: ${entities} of ${describeTenant(
          engine,
        )}, which the catalog does not have`,
      ]
    : [];
}

/** @throws {@link RefusedError} for another engine of the tenant, and another adoption of the engine */
async function refuseAnother(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  const adopted = await adoptedEngine(context, engine.tenantId);
  if (adopted && adopted.schema !== engine.schema) {
    throw new RefusedError(
      `The catalog in the schema "${adopted.schema}" is adopted already. ` +
        `Undo that first (${adoptCommand(engine, 'unadopt')}).`,
    );
  }
  // Their triggers would be replaced, and their tenant go stale without an error.
  const other = await otherAdoption(context, engine);
  if (other) {
    throw new RefusedError(
      `The catalog in the schema "${engine.schema}" is adopted for another tenant, or in another schema. ` +
        `Undo that first (${operatorCommand(
          'unadopt',
          `--schema ${other.schema} --tenant ${other.tenantId}`,
        )}).`,
    );
  }
}

/** @throws {@link RefusedError} for entities that would be removed, unless `--force` was given */
async function refuseLosses(
  context: StepContext,
  tenant: AdoptedTenant,
): Promise<void> {
  const losses = context.settings.force
    ? []
    : await readAdoptionLosses(context, tenant);
  if (losses.length > 0) {
    throw new RefusedError(
      `These would be removed: ${losses.join(
        ', ',
      )}. Delete them, or give --force.`,
    );
  }
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const AT_ONCE = 10_000;

/** Entities of the tenant that the engine does not have, before it owns them. */
async function countOtherEntities(
  context: StepContext,
  engine: Engine,
): Promise<number> {
  const { executor } = context;
  if (
    (await adoptedEngine(context, engine.tenantId)) ||
    !(await isSwapped(executor))
  ) {
    return 0;
  }
  const finals = engineTable(engine, 'final_entities');
  let found = 0;
  for (let after: string | undefined = FIRST_ID; after !== undefined; ) {
    const entities: { id: string }[] = await executor.read(
      `select entity_id::text as id from entities
        where tenant_id = $1 and entity_id > $2 order by entity_id limit ${AT_ONCE}`,
      [engine.tenantId, after],
    );
    // Two queries: before an adoption portal_admin has no right to the engine's table, and
    // the login none to ours.
    const [{ others }] = await reading(context, engine, () =>
      executor.read<{ others: number }>(
        `select count(*)::int as others from unnest($1::text[]) as ours (id)
          where not exists (select from ${finals} f where f.entity_id = ours.id)`,
        [entities.map(({ id }) => id)],
      ),
    );
    found += others;
    after = entities.at(-1)?.id;
  }
  return found;
}

/**
 * Creates the functions and triggers that carry the engine's changes. Repeating it
 * replaces the functions, and restores triggers that were dropped or disabled.
 */
async function install(context: StepContext, engine: Engine): Promise<void> {
  const { executor } = context;
  const { schema, tenantId } = engine;
  await bringAdoptionAlong(context);
  await executor.execute(putState(tenantId, 'engine', { schema }));
  await createQuota(context, engine);
  await grantOnEngine(context, engine);
  // final_entities last: an entity brings its relations and refresh state.
  for (const table of await tablesWithoutTriggers(executor, engine)) {
    const name = engineTable(engine, table);
    await asLogin(context, () =>
      executor.transaction({
        title: `Carry the changes of ${name}`,
        locks:
          `SHARE ROW EXCLUSIVE on ${name}, for a change of the catalog. It waits for ` +
          'the transactions that have written, so that none of them is missed.',
        tables: [name],
        mode: 'share row exclusive',
        statements: [
          ...privilegesOnTable(engine, table).map(
            each => `grant ${each} to ${ADMIN_ROLE}`,
          ),
          ...createTriggerStatements(engine, table),
          ...enableTriggers(engine, table),
        ],
      }),
    );
  }
}

/** The default tenant has no limit. */
async function createQuota(
  context: StepContext,
  engine: Engine,
): Promise<void> {
  if (engine.tenantId === DEFAULT_TENANT_ID) {
    return;
  }
  const name = escapeIdentifier(engine.schema);
  await asLogin(context, () =>
    context.executor.transaction({
      title: `Create ${name}.${QUOTA_SEQUENCE}`,
      locks: 'A new sequence, which no session uses yet.',
      statements: [
        createQuotaStatement(name),
        `grant ${quotaPrivilege(engine)} to ${ADMIN_ROLE}`,
      ],
    }),
  );
}

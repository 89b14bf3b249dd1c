import type { Executor } from '../engine/Executor';
import { recording } from '../engine/ownership';
import type { StepContext } from '../engine/Step';
import {
  FUNCTIONS as TERM_FUNCTIONS,
  functionStatements,
} from '../phases/phase5_partitions/15_search_tables/functions';
import { ADMIN_ROLE, ownerStatement } from '../roles';
import {
  revokeAllOnFunctionStatement,
  revokeAllStatement,
} from '../schema/grants';
import { existingTables } from '../schema/lookups';
import { isSharded } from '../schema/partitions';
import { functionsIn, readSqlFile, sqlForSchema } from '../sqlFile';
import { ADOPTION_STATE, FAULTS } from './state';

const SQL = readSqlFile('adoption');

const TABLES = [FAULTS, ADOPTION_STATE];

/** The functions that the file creates, by their signatures. */
export const ADOPTION_FUNCTIONS = functionsIn(SQL);

/** Those that keep their plans, which on Citus may not: see {@link plansOnCitus}. */
const WITH_KEPT_PLANS = [
  'adoption_is_carried(uuid, uuid)',
  'adoption_put_parents(uuid, text, text[], text[])',
];

/** Of earlier versions. A trigger that runs while they go leaves a fault, which is retried. */
const FORMER_SIGNATURES = [
  'adoption_put_entity(uuid, text, text, text, text, text, timestamptz)',
  'adoption_put_relations(uuid, text, text)',
  'adoption_put_parent(uuid, text, text, text)',
  'adoption_clear_relations(uuid)',
];

/** What the file creates. */
export const ADOPTION_CREATIONS = [
  ...TABLES.flatMap(table => [table, `${table}_pkey`]),
  ...ADOPTION_FUNCTIONS,
];

/** The statements that undo {@link prepareAdoption}. */
export const DROP_ADOPTION = [
  ...ADOPTION_FUNCTIONS.map(
    signature => `drop function if exists ${signature}`,
  ),
  `drop table if exists ${TABLES.join(', ')}`,
];

/** The statements that have each plan name the shards of its tenant. */
export const plansOnCitus = WITH_KEPT_PLANS.map(
  signature =>
    `alter function ${signature} set plan_cache_mode = force_custom_plan`,
);

/**
 * Creates the functions and tables that adoption of any tenant needs, or replaces the functions
 * that an earlier version made. It changes no table of an engine, and no trigger. Without EXECUTE
 * no role can create a trigger with a function: triggers call it without checking the writer's
 * rights.
 */
export async function prepareAdoption({
  executor,
  settings,
}: StepContext): Promise<void> {
  const there = await existingTables(executor, TABLES);
  await executor.transaction({
    title: 'Create the functions that carry changes',
    locks:
      'New objects, which no session uses yet, and functions: a write that has begun goes on ' +
      'with the one that it calls.',
    statements: [
      sqlForSchema(SQL, settings.schema),
      ...FORMER_SIGNATURES.map(
        signature => `drop function if exists ${signature}`,
      ),
      // Faults name entities, and no policy protects the table.
      ...TABLES.map(revokeAllStatement),
      ...ADOPTION_FUNCTIONS.map(revokeAllOnFunctionStatement),
      ...((await isSharded(executor)) ? plansOnCitus : []),
      // A trigger would wait for it, also where it changes nothing.
      ...TABLES.filter(each => !there.includes(each)).map(ownerStatement),
      // They are SECURITY DEFINER, and work as the owner of our tables.
      ...ADOPTION_FUNCTIONS.map(
        signature => `alter function ${signature} owner to ${ADMIN_ROLE}`,
      ),
    ],
  });
}

/**
 * Replaces the functions that an earlier version made, where they differ: those of the adoption,
 * and those that write terms. The nodes of Citus keep the latter as they are.
 */
export async function bringAdoptionAlong(context: StepContext): Promise<void> {
  const { executor, settings } = context;
  const adoption = sqlForSchema(SQL, settings.schema);
  if (await hasOthers(executor, ADOPTION_FUNCTIONS, adoption)) {
    await prepareAdoption(recording(context, ADOPTION_CREATIONS));
  }
  const terms = await functionStatements(executor, settings.schema);
  if (
    (await hasOthers(executor, TERM_FUNCTIONS, terms.join())) &&
    !(await isSharded(executor))
  ) {
    await recording(context, TERM_FUNCTIONS).executor.transaction({
      title: 'Replace the functions that write the terms of entities',
      locks:
        'Functions: a write that has begun goes on with the one that it calls.',
      statements: terms,
    });
  }
}

/** Whether a function that is there has another body than the statements give it. */
async function hasOthers(
  executor: Executor,
  signatures: readonly string[],
  statements: string,
): Promise<boolean> {
  const rows = await executor.read<{ body: string }>(
    `select p.prosrc as body
       from unnest($1::text[]) s join pg_proc p on p.oid = to_regprocedure(s)`,
    [signatures],
  );
  return rows.some(({ body }) => !statements.includes(body));
}

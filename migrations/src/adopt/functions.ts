import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { ADMIN_ROLE, ownerStatement } from '../roles';
import {
  revokeAllOnFunctionStatement,
  revokeAllStatement,
} from '../schema/grants';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { ADOPTION_STATE, FAULTS } from './state';

const FILE = join(
  dirname(require.resolve('backstage-catalog-tenancy-migrations/package.json')),
  'sql',
  'adoption.sql',
);

/** The functions that the file creates, by their signatures. */
const FUNCTION_SIGNATURES = [
  'adoption_note(uuid, text, text, text, text, text)',
  'adoption_check_snapshot()',
  'adoption_json(text)',
  'adoption_is_carried(uuid, uuid)',
  'adoption_reserve(uuid, text)',
  'adoption_release(text)',
  'adoption_put_relations(uuid, text, text)',
  'adoption_put_state(uuid, text, text, text, text)',
  'adoption_put_rest(uuid, text, text)',
  'adoption_put_entity(uuid, text, text, text, text, text, timestamptz, boolean)',
  'adoption_forget_entity(uuid, text, uuid)',
  'adoption_drop_entity(uuid, text, text)',
  'adoption_clear(uuid, text)',
  'adoption_clear_relations(uuid)',
  'adoption_put(uuid, text, text)',
  'adoption_copy(uuid, text, text, integer)',
  'adoption_put_parent(uuid, text, text, text)',
  'adoption_copy_parents(uuid, text, bigint, integer)',
  'adoption_on_final_entities()',
  'adoption_on_relations()',
  'adoption_on_refresh_state()',
  'adoption_on_refresh_state_references()',
];

/** Of an earlier version. A trigger that runs while it goes leaves a fault, which is retried. */
const FORMER_SIGNATURE =
  'adoption_put_entity(uuid, text, text, text, text, text, timestamptz)';

/** The functions that may be there. */
export const DROPPED_SIGNATURES = [...FUNCTION_SIGNATURES, FORMER_SIGNATURE];

/** What the file creates. */
export const ADOPTION_CREATIONS = [
  FAULTS,
  `${FAULTS}_pkey`,
  ADOPTION_STATE,
  `${ADOPTION_STATE}_pkey`,
  ...FUNCTION_SIGNATURES,
];

/** The statements that undo {@link prepareAdoption}. */
export const DROP_ADOPTION = [
  ...DROPPED_SIGNATURES.map(
    signature => `drop function if exists ${signature}`,
  ),
  `drop table if exists ${FAULTS}, ${ADOPTION_STATE}`,
];

function readSql(schema: string): string {
  return readFileSync(FILE, 'utf8')
    .replaceAll(':"schema"', escapeIdentifier(schema))
    .replaceAll(":'schema'", escapeLiteral(schema))
    .trim()
    .replace(/;$/, '');
}

/**
 * Creates the functions and tables that adoption of any tenant needs, or replaces the functions
 * that an earlier version made. It changes no table of an engine, and no trigger. Without EXECUTE
 * no role can create a trigger with a function: triggers call it without checking the writer's
 * rights.
 *
 * @param statements - run in the transaction that creates the objects
 */
export async function prepareAdoption(
  { executor, settings }: StepContext,
  statements: string[],
): Promise<void> {
  await executor.transaction({
    title: 'Create the functions that carry changes',
    locks:
      'New objects, which no session uses yet, and functions: a write that has begun goes on ' +
      'with the one that it calls.',
    statements: [
      readSql(settings.schema),
      `drop function if exists ${FORMER_SIGNATURE}`,
      // Faults name entities, and no policy protects the table.
      ...[FAULTS, ADOPTION_STATE].map(revokeAllStatement),
      ...FUNCTION_SIGNATURES.map(revokeAllOnFunctionStatement),
      ...statements,
      ...[FAULTS, ADOPTION_STATE].map(ownerStatement),
      // They are SECURITY DEFINER, and work as the owner of our tables.
      ...FUNCTION_SIGNATURES.map(
        signature => `alter function ${signature} owner to ${ADMIN_ROLE}`,
      ),
    ],
  });
}

/** Replaces the functions that an earlier version made, where they differ. */
export async function bringAdoptionAlong(context: StepContext): Promise<void> {
  const { executor, settings } = context;
  if (await hasOtherFunctions(executor, settings.schema)) {
    await prepareAdoption(context, []);
  }
}

/** Whether a function that is there has another body than this version gives it. */
async function hasOtherFunctions(
  executor: Executor,
  schema: string,
): Promise<boolean> {
  const sql = readSql(schema);
  const rows = await executor.read<{ body: string }>(
    `select p.prosrc as body
       from unnest($1::text[]) s join pg_proc p on p.oid = to_regprocedure(s)`,
    [FUNCTION_SIGNATURES],
  );
  return rows.some(({ body }) => !sql.includes(body));
}

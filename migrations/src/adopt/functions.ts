import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

const SQL = readFileSync(FILE, 'utf8').trim().replace(/;$/, '');

/** The functions that the file creates, by their signatures. */
export const ADOPTION_FUNCTIONS = [
  ...SQL.matchAll(/^create or replace function (\w+)\(([^)]*)\)/gm),
].map(([, name, parameters]) => {
  const types = parameters
    .split(',')
    .map(each => each.trim())
    .filter(each => each && !each.startsWith('out '))
    .map(each => each.replace(/^\w+ /, ''));
  return `${name}(${types.join(', ')})`;
});

/** Those that keep their plans, which on Citus may not: see {@link plansOnCitus}. */
const WITH_KEPT_PLANS = [
  'adoption_is_carried(uuid, uuid)',
  'adoption_put_parents(uuid, text, text[], text[])',
];

/** What the file creates. */
export const ADOPTION_CREATIONS = [
  FAULTS,
  `${FAULTS}_pkey`,
  ADOPTION_STATE,
  `${ADOPTION_STATE}_pkey`,
  ...ADOPTION_FUNCTIONS,
];

/** The statements that undo {@link prepareAdoption}. */
export const DROP_ADOPTION = [
  ...ADOPTION_FUNCTIONS.map(
    signature => `drop function if exists ${signature}`,
  ),
  `drop table if exists ${FAULTS}, ${ADOPTION_STATE}`,
];

/** The statements that have each plan name the shards of its tenant. */
export const plansOnCitus = WITH_KEPT_PLANS.map(
  signature =>
    `alter function ${signature} set plan_cache_mode = force_custom_plan`,
);

/**
 * Creates the functions and tables that adoption of any tenant needs. Without EXECUTE no role can
 * create a trigger with a function: triggers call it without checking the writer's rights.
 */
export async function prepareAdoption({
  executor,
  settings: { schema },
}: StepContext): Promise<void> {
  await executor.transaction({
    title: 'Create the functions that carry changes',
    locks: 'New objects, which no session uses yet.',
    statements: [
      SQL.replaceAll(':"schema"', escapeIdentifier(schema)).replaceAll(
        ":'schema'",
        escapeLiteral(schema),
      ),
      // Faults name entities, and no policy protects the table.
      ...[FAULTS, ADOPTION_STATE].map(revokeAllStatement),
      ...ADOPTION_FUNCTIONS.map(revokeAllOnFunctionStatement),
      ...[FAULTS, ADOPTION_STATE].map(ownerStatement),
      // They are SECURITY DEFINER, and work as the owner of our tables.
      ...ADOPTION_FUNCTIONS.map(
        signature => `alter function ${signature} owner to ${ADMIN_ROLE}`,
      ),
    ],
  });
}

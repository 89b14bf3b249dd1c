import type { StepContext } from '../engine/Step';
import { ADMIN_ROLE } from '../roles';
import {
  createShared,
  FUNCTION_SIGNATURES,
  hasOtherFunctions,
} from './objects';
import { ADOPTION_STATE, FAULTS } from './state';

// Triggers call the functions, which are SECURITY DEFINER, as the owner of our tables.
const giveToAdmin = [
  ...FUNCTION_SIGNATURES.map(each => `function ${each}`),
  `table ${FAULTS}`,
  `table ${ADOPTION_STATE}`,
].map(each => `alter ${each} owner to ${ADMIN_ROLE}`);

/**
 * Creates the functions and tables that adoption of any tenant needs, or replaces the
 * functions. It changes no table of an engine, and no trigger.
 *
 * It replaces what an earlier version made, while the engine writes: the functions keep their
 * names and arguments, so that a change is carried by either version.
 *
 * @param statements - run in the transaction that creates the objects
 */
export async function prepareAdoption(
  context: StepContext,
  statements: string[],
): Promise<void> {
  const { executor, settings } = context;
  await executor.transaction({
    title: 'Create the functions that carry changes',
    locks:
      'New objects, which no session uses yet, and functions: a write that has begun goes on ' +
      'with the one that it calls.',
    statements: [
      ...createShared({ schema: settings.schema }),
      ...statements,
      ...giveToAdmin,
    ],
  });
}

/** Replaces the functions that an earlier version made, where they differ. */
export async function bringAdoptionAlong(context: StepContext): Promise<void> {
  const { executor, settings } = context;
  if (await hasOtherFunctions(executor, { schema: settings.schema })) {
    await prepareAdoption(context, []);
  }
}

import type { StepContext } from '../engine/Step';
import { operatorCommand } from '../operatorCommand';
import { relationExists } from '../schema/lookups';
import { DEFAULT_TENANT_ID } from '../schema/tables';
import { escapeIdentifier } from '../sql';
import { formatThings } from '../text';
import {
  createShared,
  DROP_SHARED,
  FUNCTION_SIGNATURES,
  hasOtherFunctions,
  readFunctions,
} from './objects';
import { ownerOf } from './rights';
import { adoptedEngines, ADOPTION_STATE, FAULTS, readState } from './state';

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
      ...(await handOver(context)),
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

/**
 * Drops what {@link prepareAdoption} made, unless an adopted engine needs it.
 *
 * The tables of a database that goes back before phase 5 have no room for other tenants than
 * the default one. The triggers of their engines stay: a change is kept aside as a fault,
 * and what the engine has is compared and carried once phase 5 is complete again.
 */
export async function forgetPreparation(context: StepContext): Promise<void> {
  const { executor, reporter } = context;
  const { prepared } = await readState(executor);
  if (!prepared) {
    return;
  }
  await bringAdoptionAlong(context);
  const engines = await adoptedEngines(context);
  const others = engines.filter(
    ({ tenantId }) => tenantId !== DEFAULT_TENANT_ID,
  );
  if (others.length > 0) {
    reporter.warn(
      `The engines of ${formatThings(others.length, 'tenant')} go on without ` +
        'tables for their entities. What they change is kept aside, and carried after ' +
        `phase 5: by the backend, or by "${operatorCommand(
          'adopt',
          '--tenant <slug>',
        )}".`,
    );
  }
  await executor.transaction({
    title: 'Forget the preparation for engines of tenants',
    locks:
      engines.length > 0
        ? 'Rows of the adoption, which no trigger uses.'
        : `ACCESS EXCLUSIVE on ${FAULTS} and ${ADOPTION_STATE}, which no session uses any more.`,
    tables: engines.length > 0 ? [] : [FAULTS, ADOPTION_STATE],
    statements:
      engines.length > 0
        ? [
            `delete from ${ADOPTION_STATE} where key = 'prepared'`,
            `update ${ADOPTION_STATE} set value = '{"after": "", "done": false}'
 where key = 'copy' and tenant_id <> '${DEFAULT_TENANT_ID}'`,
          ]
        : DROP_SHARED,
  });
}

/**
 * Gives what is created to the owner of our tables, if that is another role: as soon as the
 * transaction ends, triggers that run as the owner call the functions.
 */
async function handOver(context: StepContext): Promise<string[]> {
  const { executor } = context;
  const owner = await ownerOf(context, 'entities');
  const [{ user }] = await executor.read<{ user: string }>(
    'select current_user as user',
  );
  if (owner === user) {
    return [];
  }
  const functions = await readFunctions(executor);
  const objects = FUNCTION_SIGNATURES.filter(
    each => !functions.includes(each),
  ).map(each => `function ${each}`);
  for (const table of [FAULTS, ADOPTION_STATE]) {
    if (!(await relationExists(executor, table))) {
      objects.push(`table ${table}`);
    }
  }
  return objects.map(
    each => `alter ${each} owner to ${escapeIdentifier(owner)}`,
  );
}

import { describeFound, findCreations } from '../engine/ownership';
import type { Creation, StepContext } from '../engine/Step';
import { FUNCTION_SIGNATURES } from './objects';
import { ADOPTION_STATE, FAULTS } from './names';
import { readState } from './state';

const CREATIONS: Creation[] = [
  ...[FAULTS, `${FAULTS}_pkey`, ADOPTION_STATE, `${ADOPTION_STATE}_pkey`].map(
    (name): Creation => ({ kind: 'relation', name }),
  ),
  ...FUNCTION_SIGNATURES.map((name): Creation => ({ kind: 'function', name })),
];

/**
 * What stands under the names that an adoption uses, where there is no adoption: an
 * undo of one drops all that is called so.
 */
export async function takenAdoptionNames({
  executor,
}: Pick<StepContext, 'executor'>): Promise<string[]> {
  const { engine, created } = await readState(executor);
  return engine || created
    ? []
    : (await findCreations(executor, CREATIONS)).map(describeFound);
}

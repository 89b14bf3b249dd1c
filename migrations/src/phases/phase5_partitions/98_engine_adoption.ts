import { forgetPreparation, prepareAdoption } from '../../adopt/prepare';
import { takenAdoptionNames } from '../../adopt/objects';
import { putState } from '../../adopt/state';
import { explainTaken } from '../../engine/ownership';
import type { Step } from '../../engine/Step';
import { RefusedError } from '../../errors';
import { DEFAULT_TENANT_ID } from '../../schema/tables';

/**
 * Prepares the adoption of any tenant's engine: the functions that triggers on its tables
 * call. Where the stock catalog was adopted by an earlier version, it brings that along.
 *
 * A database of which an earlier version completed phase 5 lacks this step alone. `phase5`
 * does it, and so does a backend that starts.
 */
export const engineAdoption: Step = {
  name: '5_98_engine_adoption',
  title: "Prepare the adoption of tenants' engines",
  isAddition: true,

  async up(context) {
    const taken = await takenAdoptionNames(context);
    if (taken.length > 0) {
      throw new RefusedError(explainTaken(taken));
    }
    await prepareAdoption(context, [
      putState(DEFAULT_TENANT_ID, 'prepared', true),
    ]);
  },

  down: forgetPreparation,
};

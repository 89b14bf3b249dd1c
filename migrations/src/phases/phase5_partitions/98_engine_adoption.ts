import { forgetPreparation, prepareAdoption } from '../../adopt/prepare';
import { ADOPTION_CREATIONS, isAdoptionThere } from '../../adopt/objects';
import { putState } from '../../adopt/state';
import type { Step } from '../../engine/Step';
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

  creates: async context =>
    (await isAdoptionThere(context)) ? [] : ADOPTION_CREATIONS,

  async up(context) {
    await prepareAdoption(context, [
      putState(DEFAULT_TENANT_ID, 'prepared', true),
    ]);
  },

  down: forgetPreparation,
};

import {
  ADOPTION_CREATIONS,
  DROP_ADOPTION,
  prepareAdoption,
} from '../../adopt/functions';
import { ADOPTION_STATE, FAULTS } from '../../adopt/state';
import type { Step } from '../../engine/Step';

/** Prepares the adoption of any tenant's engine: the functions that triggers on its tables call. */
export const engineAdoption: Step = {
  name: '5_98_engine_adoption',
  title: "Prepare the adoption of tenants' engines",

  creates: ADOPTION_CREATIONS,

  async up(context) {
    await prepareAdoption(context);
  },

  // The adoptions have ended before: see rollback.
  async down({ executor }) {
    await executor.transaction({
      title: 'Drop what carries changes',
      locks: `ACCESS EXCLUSIVE on ${FAULTS} and ${ADOPTION_STATE}, which no session uses any more.`,
      tables: [FAULTS, ADOPTION_STATE],
      statements: DROP_ADOPTION,
    });
  },
};

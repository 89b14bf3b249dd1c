import { silentReporter } from '../Reporter';
import type { PhaseNumber, Step } from '../engine/Step';
import type { CatalogDatabase } from './catalogDatabase';

/** Runs a phase until a step of it is about to begin. */
export async function stopBefore(
  database: CatalogDatabase,
  phase: PhaseNumber,
  step: Step,
): Promise<void> {
  const stop = new Error('stopped');
  const reporter = {
    ...silentReporter,
    info: (message: string) => {
      if (message === step.title) {
        throw stop;
      }
    },
  };
  await database
    .migrate(migration => migration.runPhase(phase), { reporter })
    .then(
      () => {
        throw new Error(`Phase ${phase} ended without the step ${step.name}`);
      },
      error => {
        if (error !== stop) {
          throw error;
        }
      },
    );
}

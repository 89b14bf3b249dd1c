import type { PhaseNumber } from '../engine/Step';
import type { CatalogDatabase } from './catalogDatabase';

/** Runs every phase up to one, each in a session of its own, as operators do. */
export async function runPhases(
  database: CatalogDatabase,
  last: PhaseNumber,
  options?: Parameters<CatalogDatabase['migrate']>[1],
): Promise<void> {
  for (let phase = 1; phase <= last; phase += 1) {
    await database.migrate(
      migration => migration.runPhase(phase as PhaseNumber),
      options,
    );
  }
}

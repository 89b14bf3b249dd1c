import type { PhaseNumber, Step } from '../engine/Step';
import type { CatalogDatabase } from './catalogDatabase';

/** The statements that a dry run of a phase, or of an undo from a step, prints. */
export async function dryRun(
  database: CatalogDatabase,
  command: PhaseNumber | Step,
  options?: Parameters<CatalogDatabase['migrate']>[1],
): Promise<string[]> {
  let script = '';
  await database.migrate(
    async migration => {
      await (typeof command === 'number'
        ? migration.runPhase(command)
        : migration.undoFrom(command));
    },
    {
      ...options,
      mode: 'dryRun',
      print: text => {
        script += text;
      },
    },
  );
  return script.split(/;\n\n/).filter(statement => statement.trim());
}

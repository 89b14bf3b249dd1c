import type { BenchmarkContext } from '../harness/Benchmark';
import { type Comparison, compare } from '../harness/comparison';
import {
  createBareTables,
  emptyBareTables,
  insertIntoBare,
} from './bareTables';
import { type Database, runStatements, secondsOf } from './database';
import { copyRows, firstCatchUp, foreignKeys, indexes, swap } from './engine';
import { measureSides } from './measureSides';
import { goBack, runPhaseUpTo } from './operator';
import { StepClock } from './StepClock';

const TARGET = 0.6;

/** All that builds the copy. Verification and swap come after it. */
const BUILDING = [copyRows, firstCatchUp, indexes, foreignKeys];

/**
 * Compares the copy of phase 5 with one INSERT … SELECT per table into partitioned
 * tables that have the same indexes, constraints and foreign keys from the start.
 *
 * @param database - a catalog after phase 4, which is left as it was
 */
export async function compareCopy(
  context: BenchmarkContext,
  database: Database,
  rows: number,
): Promise<{ comparison: Comparison; notes: string[] }> {
  // What the alternative fills is made after what ours has built.
  await build(database);
  await createBareTables(database);
  await goBack(database, 4);

  let clock = new StepClock();
  const [ours, alternative] = await measureSides(context, rows, [
    {
      name: 'phase 5, 5_30 to 5_60',
      measure: async () => {
        clock = await build(database);
        await goBack(database, 4);
        return clock.secondsOf(BUILDING);
      },
    },
    {
      name: 'INSERT … SELECT',
      measure: async () => {
        const seconds = await secondsOf(database, () =>
          insertIntoBare(database),
        );
        await emptyBareTables(database);
        return seconds;
      },
    },
  ]);
  const steps = clock
    .times()
    .map(({ name, seconds }) => `${name} ${seconds.toFixed(1)} s`);
  return {
    comparison: compare({
      what: 'copy',
      unit: 'rows',
      ours,
      alternative,
      target: TARGET,
    }),
    notes: [`Copy, the last round, nobody else writing: ${steps.join(', ')}`],
  };
}

/** Runs phase 5 until the copies are complete. */
async function build(database: Database): Promise<StepClock> {
  await runStatements(database, ['checkpoint']);
  return runPhaseUpTo(database, 5, swap);
}

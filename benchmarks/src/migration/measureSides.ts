import type { BenchmarkContext } from '../harness/Benchmark';
import type { Measurement } from '../harness/comparison';
import { formatSeconds } from '../harness/tables';

/** Something that is measured by how long it takes for all rows. */
export interface SideToMeasure {
  name: string;
  /** Seconds. */
  measure(): Promise<number>;
}

/**
 * Measures sides in turn, and in the opposite order in every other round: what
 * comes later in a round finds other things in memory and on the disk.
 */
export async function measureSides(
  { progress, settings }: Pick<BenchmarkContext, 'progress' | 'settings'>,
  rows: number,
  sides: SideToMeasure[],
): Promise<{ name: string; rounds: Measurement[] }[]> {
  const measured = sides.map(({ name }) => ({
    name,
    rounds: [] as Measurement[],
  }));
  for (let round = 0; round < settings.rounds; round += 1) {
    const order = Array.from(sides.keys());
    for (const index of round % 2 === 0 ? order : order.reverse()) {
      const seconds = await sides[index].measure();
      progress(`${sides[index].name}: ${formatSeconds(seconds)}`);
      measured[index].rounds.push({ count: rows, perSecond: rows / seconds });
    }
  }
  return measured;
}

import type { Measurement } from './comparison';

/** Something that is measured, round by round. */
export interface Contestant {
  name: string;
  measure(seconds: number): Promise<Measurement>;
}

// Caches fill, connections open, and V8 compiles what is called often.
const WARM_UP_ROUNDS = 3;

/**
 * Measures contestants in turn, A B A B …, so that whatever else the machine
 * does hits all of them alike. Many short rounds serve that better than a few
 * long ones.
 *
 * @returns The measurements of each contestant by round, in the order in which
 * the contestants were given.
 */
export async function measureInTurn(
  contestants: Contestant[],
  options: { rounds: number; seconds: number },
): Promise<Measurement[][]> {
  const { rounds, seconds } = options;
  for (const contestant of contestants) {
    await contestant.measure(WARM_UP_ROUNDS * seconds);
  }

  const measurements: Measurement[][] = contestants.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, contestant] of contestants.entries()) {
      measurements[index].push(await contestant.measure(seconds));
    }
  }
  return measurements;
}

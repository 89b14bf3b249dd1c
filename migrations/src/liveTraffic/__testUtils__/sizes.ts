/** How much traffic there is. */
export interface TrafficSizes {
  writers: number;
  /** Entities that are there before the writers begin. */
  seeded: number;
  /** About how many entities a writer keeps. */
  entitiesPerWriter: number;
  /** Entities that a big transaction inserts. */
  bigTransaction: number;
  /** The longest time for which a transaction does nothing, in milliseconds. */
  longestHoldMs: number;
  /** Transactions that each writer commits between two phases. */
  transactionsBetween: number;
  /** The longest pause between two transactions of a writer. */
  pauseMs: number;
  seed: number;
}

/** A whole number of an environment variable, such as LIVE_TRAFFIC_KILLS. */
export function numberFromEnvironment(name: string, otherwise: number): number {
  const text = process.env[`LIVE_TRAFFIC_${name}`];
  const value = text === undefined ? otherwise : Number(text);
  if (!Number.isInteger(value) || value < 0) {
    throw new Error(
      `LIVE_TRAFFIC_${name} must be a whole number, but is "${text}"`,
    );
  }
  return value;
}

/**
 * The sizes of a run, each by an environment variable. Without any, a run is
 * short enough for every test run.
 */
export function sizesFromEnvironment(): TrafficSizes {
  return {
    writers: numberFromEnvironment('WRITERS', 4),
    seeded: numberFromEnvironment('SEEDED', 200),
    entitiesPerWriter: numberFromEnvironment('ENTITIES', 60),
    bigTransaction: numberFromEnvironment('BIG_TRANSACTION', 500),
    longestHoldMs: numberFromEnvironment('LONGEST_HOLD_MS', 1000),
    transactionsBetween: numberFromEnvironment('TRANSACTIONS', 8),
    pauseMs: numberFromEnvironment('PAUSE_MS', 25),
    seed: numberFromEnvironment('SEED', Date.now() % 1_000_000),
  };
}

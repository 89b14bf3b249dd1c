/** How much is going on while the operator works. */
export interface LiveSizes {
  /** Entities that an entity provider keeps, about. */
  provided: number;
  /** Files with entities. */
  files: number;
  /** The longest pause between two things that a source does, in milliseconds. */
  pauseMs: number;
  /** How often the whole way is gone, back and forth. */
  rounds: number;
  seed: number;
}

/**
 * Each by an environment variable, such as LIVE_ENGINE_ROUNDS. Without any, a run is
 * short enough for every test run.
 */
export function sizesFromEnvironment(env = process.env): LiveSizes {
  const size = (name: string, otherwise: number) => {
    const text = env[`LIVE_ENGINE_${name}`];
    const value = text === undefined ? otherwise : Number(text);
    if (!Number.isInteger(value) || value < 0) {
      throw new Error(
        `LIVE_ENGINE_${name} must be a whole number, but is "${text}"`,
      );
    }
    return value;
  };
  return {
    provided: size('PROVIDED', 20),
    files: size('FILES', 3),
    pauseMs: size('PAUSE_MS', 400),
    rounds: size('ROUNDS', 1),
    seed: size('SEED', Date.now() % 1_000_000),
  };
}

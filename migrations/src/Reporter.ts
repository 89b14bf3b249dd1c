/**
 * Rows that are worked through.
 *
 * @public
 */
export interface Progress {
  /** So many more rows are done. */
  advance(rows: number): void;
  /** The work has ended, well or not. */
  finish(): void;
}

/**
 * Who waits because a command asks for a lock for longer than `--lock-timeout`.
 *
 * @public
 */
export interface LockQueue {
  /** Sessions of others that wait, at most so far. */
  waiting: number;
  /** For how long one of them has waited, in milliseconds, at most so far. */
  longestMs: number;
  /** The server's processes that hold what the command waits for, as last seen. */
  blockers: number[];
}

/**
 * What an operator sees while a command is at work.
 *
 * @public
 */
export interface Reporter {
  /** What is done now. */
  info(message: string): void;
  /** Something that the operator should look at. */
  warn(message: string): void;
  /**
   * A lock was not granted yet; the attempt will be repeated.
   *
   * @param queue - where the attempt may hold up others for longer: told every second,
   *   and at its end, also if it was granted
   */
  waiting(what: string, attempts: number, queue?: LockQueue): void;
  /** Begins a bar of `total` rows (an estimate) with rate and time to go. */
  progress(what: string, total: number): Progress;
}

/** Says nothing. */
export const silentReporter: Reporter = {
  info: () => undefined,
  warn: () => undefined,
  waiting: () => undefined,
  progress: () => ({ advance: () => undefined, finish: () => undefined }),
};

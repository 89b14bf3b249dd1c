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
   * @param holders - the sessions and prepared transactions in the way: `process 7 (psql, user ann)`
   */
  waiting(what: string, attempts: number, holders: string[]): void;
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

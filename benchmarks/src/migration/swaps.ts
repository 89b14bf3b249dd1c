import type { Database } from './database';
import { silentReporter } from './engine';
import { goBack, runPhase } from './operator';
import type { Longest, WriteLog } from './WriteLog';

/** What a command that swaps the tables did to the writers. */
export interface SwapResult {
  /** Of the writes that were under way during the swap. */
  longest: Longest;
  /** How often the swap was begun again, because a lock was not granted in time. */
  retries: number;
  seconds: number;
}

/**
 * Runs a command that swaps the tables once, and finds the longest write from the
 * moment on at which the command begins to ask for the locks.
 */
export async function watchSwap(
  log: WriteLog,
  command: (reporter: typeof silentReporter) => Promise<unknown>,
  reporter = silentReporter,
): Promise<SwapResult> {
  const start = performance.now();
  let from = start;
  let retries = 0;
  await command({
    ...reporter,
    waiting: (what, attempts) => {
      retries = Math.max(retries, what === 'Swap the tables' ? attempts : 0);
    },
    progress: (what, total) => {
      const progress = reporter.progress(what, total);
      return {
        advance: rows => progress.advance(rows),
        finish: () => {
          progress.finish();
          // The last thing before the swap is to replay the change log.
          from = performance.now();
          log.keep();
        },
      };
    },
  });
  const to = performance.now();
  return {
    longest: log.longestWithin({ from, to }),
    retries,
    seconds: (to - start) / 1000,
  };
}

/** Rolls the swap back, and swaps again, so many times. */
export async function swapBackAndForth(
  database: Database,
  log: WriteLog,
  times: number,
): Promise<{ back: SwapResult[]; forth: SwapResult[] }> {
  const back: SwapResult[] = [];
  const forth: SwapResult[] = [];
  for (let count = 0; count < times; count += 1) {
    log.begin('rollback of the swap, all of the command');
    back.push(
      await watchSwap(log, reporter => goBack(database, undefined, reporter)),
    );
    log.begin('swap again, all of the command');
    forth.push(
      await watchSwap(log, reporter => runPhase(database, 5, reporter)),
    );
  }
  return { back, forth };
}

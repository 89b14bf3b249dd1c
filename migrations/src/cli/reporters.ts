import type { Progress, Reporter } from '../Reporter';
import { formatCount, formatSeconds } from '../text';

/** At least so long passes between two lines about the same work. */
const EVERY_MS = 5000;

/** A reporter that writes lines, of work in progress a few per minute. */
export function createReporter(stream: NodeJS.WritableStream): Reporter {
  const info = (message: string) => {
    stream.write(`${message}\n`);
  };
  return {
    info,
    warn: message => info(`Warning: ${message}`),
    waiting(what, attempts, holders) {
      // The 1st, 2nd, 4th, 8th …: attempts may be many.
      if (Number.isInteger(Math.log2(attempts))) {
        const holder =
          holders.length > 0
            ? `held by ${holders.join('; ')}`
            : 'writers go on in between';
        info(`Waiting for a lock: ${what} (attempt ${attempts}; ${holder})`);
      }
    },
    progress: (what, total) => createProgress(what, total, info),
  };
}

function createProgress(
  what: string,
  estimate: number,
  print: (line: string) => void,
): Progress {
  const begun = performance.now();
  let printed = begun;
  let rows = 0;
  const printLine = () => {
    // The rows may exceed the estimate.
    const total = Math.max(estimate, rows);
    const rate = (1000 * rows) / (performance.now() - begun);
    print(
      `${what}: ${formatCount(rows)} of ${formatCount(total)} rows, ` +
        `${formatCount(rate)} rows/s, ETA ${formatSeconds(
          (total - rows) / rate,
        )}`,
    );
  };
  return {
    advance(more) {
      rows += more;
      if (rows > 0 && performance.now() - printed >= EVERY_MS) {
        printed = performance.now();
        printLine();
      }
    },
    finish() {
      if (rows > 0 && printed > begun) {
        printLine();
      }
      printed = begun;
    },
  };
}

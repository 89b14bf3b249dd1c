import { MultiBar } from 'cli-progress';
import type { Options, Params } from 'cli-progress';
import type { Progress, Reporter } from '../Reporter';
import { formatCount, formatSeconds } from '../text';

/** The stream of a reporter: standard error, or that of a test. */
export interface LogStream extends NodeJS.WritableStream {
  isTTY?: boolean;
}

/** A reporter that must be closed, which ends its bars and timers. */
export interface CloseableReporter extends Reporter {
  close(): void;
}

const OPTIONS: Options = {
  barsize: 24,
  fps: 5,
  noTTYOutput: true,
  notTTYSchedule: 5000,
  // Of about half a minute: batches and the load of the server vary.
  etaBuffer: 100,
  // Signals are the command's business.
  gracefulExit: false,
  // A terminal that is narrower than the line would get a new one each time.
  linewrap: false,
};

class StreamReporter implements CloseableReporter {
  private bars?: MultiBar;
  private active = 0;

  constructor(private readonly stream: LogStream) {}

  info(message: string): void {
    if (this.bars && this.stream.isTTY) {
      this.bars.log(`${message}\n`);
    } else {
      this.stream.write(`${message}\n`);
    }
  }

  warn(message: string): void {
    this.info(`Warning: ${message}`);
  }

  waiting(what: string, attempts: number, holders: string[]): void {
    // The 1st, 2nd, 4th, 8th …: attempts may be many.
    if (Number.isInteger(Math.log2(attempts))) {
      const holder =
        holders.length > 0
          ? `held by ${holders.join('; ')}`
          : 'writers go on in between';
      this.info(`Waiting for a lock: ${what} (attempt ${attempts}; ${holder})`);
    }
  }

  progress(what: string, total: number): Progress {
    this.bars ??= new MultiBar({
      ...OPTIONS,
      stream: this.stream,
      format: this.stream.isTTY ? formatBar : formatLine,
    });
    const bar = this.bars.create(total, 0, { what });
    this.active += 1;
    let rows = 0;
    let finished = false;
    return {
      advance: more => {
        rows += more;
        // An estimate, which the rows may exceed.
        bar.setTotal(Math.max(total, rows));
        bar.update(rows);
      },
      finish: () => {
        this.active -= finished ? 0 : 1;
        finished = true;
        if (this.active === 0) {
          this.close();
        }
      },
    };
  }

  close(): void {
    if (this.bars && this.stream.isTTY) {
      // Lines are drawn at the next update, and there will be no other.
      this.bars.update();
    }
    this.bars?.stop();
    this.bars = undefined;
    this.active = 0;
  }
}

/** Bars on a terminal, below the lines; on anything else lines, a few per minute. */
export function createReporter(stream: LogStream): CloseableReporter {
  return new StreamReporter(stream);
}

function formatBar(
  options: Options,
  params: Params,
  { what }: { what: string },
): string {
  const { barsize = 0 } = options;
  const done = Math.round(params.progress * barsize);
  const bar = '='.repeat(done) + '-'.repeat(barsize - done);
  const percent = Math.floor(params.progress * 100);
  return `${what} ${bar} ${percent}% | ${describe(params)}`;
}

function formatLine(
  _: Options,
  params: Params,
  { what }: { what: string },
): string {
  return `${what}: ${describe(params)}`;
}

function describe({ value, total, eta, startTime }: Params): string {
  const seconds = (Date.now() - startTime) / 1000;
  const rows = `${formatCount(value)} of ${formatCount(total)} rows`;
  return value > 0 && seconds > 0 && Number.isFinite(eta)
    ? `${rows}, ${formatCount(value / seconds)} rows/s, ETA ${formatSeconds(
        eta,
      )}`
    : rows;
}

import { MultiBar } from 'cli-progress';
import type { Progress, Reporter } from '../Reporter';
import { formatCount, formatSeconds } from '../text';

// The window of the rate: batches and the server's load vary, so the last half minute
// estimates the time left better than the whole run.
const WINDOW_MS = 30_000;

interface Sample {
  at: number;
  rows: number;
}

/** Progress, rate, and estimated time left. */
class RateMeter {
  rows = 0;
  private readonly samples: Sample[];

  constructor(
    /** An estimate, raised when the rows exceed it. */
    public total: number,
    private readonly now: () => number = Date.now,
  ) {
    this.samples = [{ at: now(), rows: 0 }];
  }

  advance(rows: number): void {
    this.rows += rows;
    this.total = Math.max(this.total, this.rows);
    const at = this.now();
    this.samples.push({ at, rows: this.rows });
    // Keeps one sample from before the window, where the window begins.
    while (this.samples.length > 2 && this.samples[1].at <= at - WINDOW_MS) {
      this.samples.shift();
    }
  }

  /** Rows per second; undefined before the first rows. */
  rate(): number | undefined {
    const [first] = this.samples;
    const seconds = (this.now() - first.at) / 1000;
    const rows = this.rows - first.rows;
    return rows > 0 && seconds > 0 ? rows / seconds : undefined;
  }

  /** Seconds until all rows are done. */
  secondsLeft(): number | undefined {
    const rate = this.rate();
    return rate === undefined ? undefined : (this.total - this.rows) / rate;
  }
}

/** The stream of a reporter: standard error, or that of a test. */
export interface LogStream extends NodeJS.WritableStream {
  isTTY?: boolean;
}

/** A reporter that must be closed, which ends its bars and timers. */
export interface CloseableReporter extends Reporter {
  close(): void;
}

const LINE_EVERY_MS = 5000;

/** The common part of both reporters. */
abstract class StreamReporter implements CloseableReporter {
  constructor(protected readonly stream: LogStream) {}

  info(message: string): void {
    this.line(message);
  }

  warn(message: string): void {
    this.line(`Warning: ${message}`);
  }

  waiting(what: string, attempts: number, holders: string[]): void {
    // The 1st, 2nd, 4th, 8th …: attempts may be many.
    if (Number.isInteger(Math.log2(attempts))) {
      this.line(
        `Waiting for a lock: ${what} (attempt ${attempts}; ${
          holders.length > 0
            ? `held by ${holders.join('; ')}`
            : 'writers go on in between'
        })`,
      );
    }
  }

  abstract progress(what: string, total: number): Progress;

  abstract close(): void;

  protected abstract line(text: string): void;
}

/** Writes lines only: for a log file, or the output of a job. */
class LineReporter extends StreamReporter {
  private readonly timers = new Set<NodeJS.Timeout>();

  progress(what: string, total: number): Progress {
    const meter = new RateMeter(total);
    const print = () => this.line(`${what}: ${describe(meter)}`);
    const timer = setInterval(print, LINE_EVERY_MS);
    this.timers.add(timer);
    return {
      advance: rows => meter.advance(rows),
      finish: () => {
        if (this.timers.delete(timer)) {
          clearInterval(timer);
          print();
        }
      },
    };
  }

  close(): void {
    this.timers.forEach(timer => clearInterval(timer));
    this.timers.clear();
  }

  protected line(text: string): void {
    this.stream.write(`${text}\n`);
  }
}

/** Draws bars, above which lines go on to be written. */
class BarReporter extends StreamReporter {
  private bars?: MultiBar;
  private active = 0;

  progress(what: string, total: number): Progress {
    const meter = new RateMeter(total);
    this.bars ??= this.createBars();
    const bar = this.bars.create(total, 0, { what, text: describe(meter) });
    this.active += 1;
    let finished = false;
    return {
      advance: rows => {
        meter.advance(rows);
        bar.setTotal(meter.total);
        bar.update(meter.rows, { text: describe(meter) });
      },
      finish: () => {
        if (!finished) {
          finished = true;
          this.active -= 1;
          if (this.active === 0) {
            this.close();
          }
        }
      },
    };
  }

  close(): void {
    // Lines are drawn at the next update, and there will be no other.
    this.bars?.update();
    this.bars?.stop();
    this.bars = undefined;
    this.active = 0;
  }

  protected line(text: string): void {
    if (this.bars) {
      this.bars.log(`${text}\n`);
    } else {
      this.stream.write(`${text}\n`);
    }
  }

  private createBars(): MultiBar {
    return new MultiBar({
      stream: this.stream,
      format: '{what} {bar} {percentage}% | {text}',
      barsize: 24,
      fps: 5,
      // Signals are the command's business.
      gracefulExit: false,
      // A terminal that is narrower than the line would get a new one each time.
      linewrap: false,
    });
  }
}

/** Bars on a terminal; on anything else lines, a few per minute. */
export function createReporter(stream: LogStream): CloseableReporter {
  return stream.isTTY ? new BarReporter(stream) : new LineReporter(stream);
}

function describe(meter: RateMeter): string {
  const rate = meter.rate();
  const left = meter.secondsLeft();
  return [
    `${formatCount(meter.rows)} of ${formatCount(meter.total)} rows`,
    ...(rate === undefined ? [] : [`${formatCount(rate)} rows/s`]),
    ...(left === undefined ? [] : [`ETA ${formatSeconds(left)}`]),
  ].join(', ');
}

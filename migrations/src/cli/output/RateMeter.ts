// Batches differ, and so does what else the server has to do: a rate over the
// last half minute says more about the time to go than one over everything.
const WINDOW_MS = 30_000;

interface Sample {
  at: number;
  rows: number;
}

/** How far work has come, how fast it goes, and how long it will take. */
export class RateMeter {
  rows = 0;
  private readonly samples: Sample[];

  constructor(
    /** An estimate, which grows when it turns out to be too small. */
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
    // The sample before the window is where the window begins.
    while (this.samples.length > 2 && this.samples[1].at <= at - WINDOW_MS) {
      this.samples.shift();
    }
  }

  /** Rows per second; undefined before there is anything to tell it from. */
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

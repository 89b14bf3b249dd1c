import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { LoadMeasurement } from '../../harness/load';
import { recordMs } from '../../harness/waits';

/** What became of the requests of a kind. */
interface Entry {
  times: RecordableHistogram;
  refused: number;
  failed: number;
}

// Of the messages of failures: the first ones tell what is wrong.
const MESSAGES = 10;
const NANOSECONDS_PER_MS = 1e6;
const ALL = 'all of them';

/** What clients went through: how long each kind of request took, and what failed. */
export class Diary {
  /** What was wrong, of the first failures. */
  readonly failures: string[] = [];
  readonly #entries = new Map<string, Entry>();
  readonly #all = createEntry();
  readonly #start = performance.now();
  #seconds?: number;

  /** A request was answered, and rightly. */
  answer(what: string, ms: number): void {
    for (const { times } of [this.#entry(what), this.#all]) {
      recordMs(times, ms);
    }
  }

  /** A request was answered with 503: there is too much to do. */
  refuse(what: string): void {
    for (const entry of [this.#entry(what), this.#all]) {
      entry.refused += 1;
    }
  }

  /** A request was not answered, or wrongly. */
  fail(what: string, error: unknown): void {
    for (const entry of [this.#entry(what), this.#all]) {
      entry.failed += 1;
    }
    if (this.failures.length < MESSAGES) {
      this.failures.push(`${what}: ${error}`);
    }
  }

  /** Nobody asks for anything any more. */
  close(): void {
    this.#seconds = (performance.now() - this.#start) / 1000;
  }

  /** Takes over what another one, that is closed, has. */
  add(diary: Diary): void {
    for (const [what, entry] of diary.#entries) {
      addTo(this.#entry(what), entry);
    }
    addTo(this.#all, diary.#all);
    this.failures.push(...diary.failures);
    this.#seconds = (this.#seconds ?? 0) + diary.seconds;
  }

  /** How many were answered with 503. */
  get refused(): number {
    return this.#all.refused;
  }

  /** How many were not answered, or wrongly. */
  get failed(): number {
    return this.#all.failed;
  }

  /** All kinds together. */
  measurement(): LoadMeasurement {
    const { times } = this.#all;
    return {
      count: times.count,
      perSecond: times.count / this.seconds,
      p50: percentile(times, 50),
      p99: percentile(times, 99),
    };
  }

  get seconds(): number {
    return this.#seconds ?? (performance.now() - this.#start) / 1000;
  }

  /** By kind, the most frequent first, and in the end all together. */
  rows(): string[][] {
    const entries = [...this.#entries].toSorted(
      ([, a], [, b]) => b.times.count - a.times.count,
    );
    return [...entries, [ALL, this.#all] as const].map(
      ([what, { times, refused, failed }]) => [
        what,
        String(times.count),
        (times.count / this.seconds).toFixed(times.count < 1000 ? 1 : 0),
        ...[50, 95, 99, 100].map(share => percentile(times, share).toFixed(1)),
        String(refused),
        String(failed),
      ],
    );
  }

  #entry(what: string): Entry {
    const known = this.#entries.get(what) ?? createEntry();
    this.#entries.set(what, known);
    return known;
  }
}

/** What the columns of {@link Diary.rows} are. */
export const DIARY_HEAD = [
  ...['request', 'answered', 'req/s', 'p50 ms', 'p95 ms', 'p99 ms'],
  ...['longest', 'refused', 'failed'],
];

function createEntry(): Entry {
  return { times: createHistogram(), refused: 0, failed: 0 };
}

function addTo(sum: Entry, entry: Entry): void {
  sum.times.add(entry.times);
  sum.refused += entry.refused;
  sum.failed += entry.failed;
}

function percentile(times: RecordableHistogram, share: number): number {
  return times.count === 0 ? 0 : times.percentile(share) / NANOSECONDS_PER_MS;
}

import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { recordMs, type Waits, waitsOf } from '../harness/waits';

/** Something that goes on while the writers write. */
interface Stage {
  name: string;
  waits: RecordableHistogram;
  /** The same with the COMMIT. */
  whole: RecordableHistogram;
  failed: number;
}

/** A span of time, in milliseconds of `performance.now()`. */
export interface Span {
  from: number;
  to: number;
}

/** A write, and when its COMMIT was sent: at the end if there was none. */
export interface Write extends Span {
  commit: number;
}

/** How long a write took at most, in milliseconds. */
export interface Longest {
  /** Up to its COMMIT: only until then can a lock of somebody else be in the way. */
  wait: number;
  /** With its COMMIT, which waits for the disk. */
  whole: number;
}

// Of the messages of failures: the first ones tell what is wrong.
const MESSAGES = 10;

/**
 * What the writers went through: how long each write took, by what went on. Each
 * counts for all that went on while it was under way, so that one that was held up
 * by a phase counts for it although it ended after it.
 *
 * It keeps figures, not writes: there are millions of those. Only for as long as
 * somebody wants to look at a span of time are they kept.
 */
export class WriteLog {
  readonly failures: string[] = [];
  readonly #stages: Stage[] = [];
  #current: Stage = createStage('nothing');
  #kept?: Write[];

  /** Something else goes on from now on. A name that is there already goes on. */
  begin(name: string): void {
    const known = this.#stages.find(stage => stage.name === name);
    this.#current = known ?? createStage(name);
    if (!known) {
      this.#stages.push(this.#current);
    }
  }

  /** What goes on now; a writer hands it to `add` when its write is done. */
  get current(): Stage {
    return this.#current;
  }

  /** A write that began during a stage has ended, well or not. */
  add(began: Stage, write: Write, error?: unknown): void {
    for (const stage of new Set([began, this.#current])) {
      recordMs(stage.waits, write.commit - write.from);
      recordMs(stage.whole, write.to - write.from);
    }
    this.#kept?.push(write);
    if (error !== undefined) {
      began.failed += 1;
      if (this.failures.length < MESSAGES) {
        this.failures.push(`A write during ${began.name} failed: ${error}`);
      }
    }
  }

  /** Keeps every write from now on, until `longestWithin` is asked for. */
  keep(): void {
    this.#kept = [];
  }

  /** The longest of the writes that were under way within a span of time. */
  longestWithin({ from, to }: Span): Longest {
    const longest = { wait: 0, whole: 0 };
    for (const write of this.#kept ?? []) {
      if (write.to >= from && write.from <= to) {
        longest.wait = Math.max(longest.wait, write.commit - write.from);
        longest.whole = Math.max(longest.whole, write.to - write.from);
      }
    }
    this.#kept = undefined;
    return longest;
  }

  get failed(): number {
    return this.#stages.reduce((sum, { failed }) => sum + failed, 0);
  }

  /** How long writes took up to their COMMIT: one line for each stage. */
  waits(): Waits[] {
    return this.#stages.map(({ name, waits, failed }) =>
      waitsOf(name, waits, failed),
    );
  }

  /** The same with the COMMIT. */
  wholes(): Waits[] {
    return this.#stages.map(({ name, whole, failed }) =>
      waitsOf(name, whole, failed),
    );
  }
}

function createStage(name: string): Stage {
  return {
    name,
    waits: createHistogram(),
    whole: createHistogram(),
    failed: 0,
  };
}

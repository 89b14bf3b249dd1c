import type { Identity, ServerFacts } from './statements';

/** Where the log of the primary ended at some moment. */
export interface Sample extends ServerFacts {
  /**
   * When it was asked, by `performance.now()`. The log ended there or later, and so
   * what was committed before is within.
   */
  askedAt: number;
}

/** How far the log of the primary had come, over the time that answers may be old. */
export class PrimaryLog {
  readonly #maxStalenessMs: number;
  readonly #intervalMs: number;
  // The oldest first, and all of one server and timeline.
  #samples: Sample[] = [];
  #latest: Sample | undefined;

  constructor(options: { maxStalenessMs: number; intervalMs: number }) {
    this.#maxStalenessMs = options.maxStalenessMs;
    this.#intervalMs = options.intervalMs;
  }

  /** The server as it was last known. */
  get latest(): Sample | undefined {
    return this.#latest;
  }

  add(sample: Sample): void {
    if (!this.#latest || !isSame(this.#latest, sample)) {
      // Places in the log of another server, or of another branch, mean nothing here.
      this.#samples = [];
    }
    this.#latest = sample;
    const oldest = this.#oldestAllowed();
    this.#samples = this.#samples.filter(({ askedAt }) => askedAt >= oldest);
    const last = this.#samples.at(-1);
    // Writers have it asked more often, of which not each has to be kept.
    if (!last || sample.askedAt - last.askedAt >= this.#intervalMs / 2) {
      this.#samples.push(sample);
    }
  }

  /**
   * What has to be replayed for an answer that is no older than it may be: the end of
   * the log at a moment within that time. Nothing where the primary was not asked
   * since, for then nobody knows what has been committed meanwhile.
   */
  required(): Sample | undefined {
    const oldest = this.#oldestAllowed();
    return this.#samples.find(({ askedAt }) => askedAt >= oldest);
  }

  #oldestAllowed(): number {
    return performance.now() - this.#maxStalenessMs;
  }
}

/** Whether both are one database, on one branch of its history. */
export function isSame(one: Identity, other: Identity): boolean {
  return (
    one.systemId === other.systemId &&
    one.database === other.database &&
    one.timeline === other.timeline
  );
}

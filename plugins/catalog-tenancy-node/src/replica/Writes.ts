import { isSame, type Sample } from './PrimaryLog';

/** Instead of a tenant: a write to rows of whichever tenants. */
export const ALL_TENANTS = '*';

interface Mark {
  /** How many writes have not ended. */
  underWay: number;
  /** When the last of them has, by `performance.now()`. */
  endedAt: number;
  /** What has to be replayed so that all of them are seen; unknown at first. */
  covered?: Sample;
}

/**
 * Which tenants this process has written to, and what a server must have replayed
 * to show it.
 *
 * A write counts from before it begins, whatever becomes of it: one whose connection
 * was lost may have been committed.
 */
export class Writes {
  readonly #marks = new Map<string, Mark>();
  readonly #onEnd: () => void;

  /** @param onEnd - is told that the end of the primary's log is wanted */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  /** @returns what to call at the end of the write, whatever became of it */
  begin(tenantId: string): () => void {
    const mark = this.#marks.get(tenantId) ?? { underWay: 0, endedAt: 0 };
    this.#marks.set(tenantId, mark);
    mark.underWay += 1;
    mark.covered = undefined;
    let ended = false;
    return () => {
      if (!ended) {
        ended = true;
        mark.underWay -= 1;
        mark.endedAt = performance.now();
        mark.covered = undefined;
        this.#onEnd();
      }
    };
  }

  /**
   * What has to be replayed so that a tenant's writes are seen: `undefined` if there
   * were none lately, and `unknown` as long as the primary alone shows them.
   */
  coveredBy(tenantId: string): Sample | 'unknown' | undefined {
    // There are none most of the time.
    if (this.#marks.size === 0) {
      return undefined;
    }
    const marks = [tenantId, ALL_TENANTS].flatMap(
      each => this.#marks.get(each) ?? [],
    );
    if (marks.length === 0) {
      return undefined;
    }
    return marks
      .map(({ covered }) => covered ?? 'unknown')
      .reduce((one, other) =>
        one === 'unknown' || (other !== 'unknown' && one.lsn >= other.lsn)
          ? one
          : other,
      );
  }

  /** Whether some of it is beyond a place in the log. */
  reachBeyond(lsn: bigint): boolean {
    return [...this.#marks.values()].some(
      ({ covered }) => covered && covered.lsn > lsn,
    );
  }

  /** Writes that had ended before the primary was asked end before its answer. */
  cover(sample: Sample): void {
    for (const mark of this.#marks.values()) {
      const settled = mark.underWay === 0 && mark.endedAt <= sample.askedAt;
      if (settled && !(mark.covered && isSame(mark.covered, sample))) {
        mark.covered = sample;
      }
    }
  }

  /** @param required - what has to be replayed anyway: earlier writes are within */
  forget(required: Sample | undefined): void {
    for (const [tenantId, mark] of this.#marks) {
      if (mark.underWay === 0 && required && mark.endedAt <= required.askedAt) {
        this.#marks.delete(tenantId);
      }
    }
  }
}

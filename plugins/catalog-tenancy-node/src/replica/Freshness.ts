import type { LogPosition } from './statements';

/** The key of writes that may affect any tenant. */
export const ALL_TENANTS = '*';

/** The end of the primary's log at a moment. */
export interface Sample extends LogPosition {
  /**
   * When the query was sent to the primary, by `performance.now()`. The position covers all
   * commits before this time.
   */
  askedAt: number;
}

interface TenantWrites {
  /** The number of running writes. */
  underWay: number;
  /** When the last write ended, by `performance.now()`. */
  endedAt: number;
}

// Bounds the query to a replica that is far behind.
const MAX_PENDING = 50;

/**
 * Decides which reads the replica can answer, by the clock of this process only. The end of the
 * primary's log is sampled regularly; a replica that has replayed a sample shows all commits
 * before the sample was requested. So a read needs a replayed sample that is younger than the
 * staleness limit and than this process's last write of the tenant.
 */
export class Freshness {
  /** The interval of samples. */
  readonly intervalMs: number;

  readonly #maxStalenessMs: number;
  // Oldest first; all of one server and timeline.
  #samples: Sample[] = [];
  // The time of the newest replayed sample.
  #replayedTo = -Infinity;
  readonly #writes = new Map<string, TenantWrites>();

  constructor(maxStalenessMs: number) {
    this.#maxStalenessMs = maxStalenessMs;
    this.intervalMs = Math.min(1_000, maxStalenessMs / 4);
  }

  /** The newest sample. */
  get primary(): Sample | undefined {
    return this.#samples.at(-1);
  }

  /** Whether the newest sample is within the staleness limit. */
  get isPrimaryKnown(): boolean {
    return (this.primary?.askedAt ?? -Infinity) >= this.#oldestAllowed();
  }

  /** Whether the replica may answer reads of tenants without newer writes. */
  get isReplicaFresh(): boolean {
    return this.#replayedTo >= this.#oldestAllowed();
  }

  /** The samples to compare with the replica next, from the last replayed one on. */
  get pending(): Sample[] {
    const first = this.#samples.findIndex(
      ({ askedAt }) => askedAt >= this.#replayedTo,
    );
    return this.#samples.slice(Math.max(first, 0)).slice(0, MAX_PENDING);
  }

  /**
   * The oldest sample that is sufficient for a read of the tenant; undefined if the replica has
   * not replayed it. The oldest, because behind one host name another replica may answer.
   */
  requiredFor(tenantId: string): Sample | undefined {
    const notBefore = Math.max(
      this.#oldestAllowed(),
      this.#lastWriteOf(tenantId),
      this.#lastWriteOf(ALL_TENANTS),
    );
    const required = this.#samples.find(({ askedAt }) => askedAt >= notBefore);
    return required && required.askedAt <= this.#replayedTo
      ? required
      : undefined;
  }

  /**
   * Records a write before it begins, whatever its outcome: after a lost connection it may have
   * been committed.
   *
   * @returns a function to call at the end of the write
   */
  beginWrite(tenantId: string): () => void {
    const key = keyOf(tenantId);
    const writes = this.#writes.get(key) ?? {
      underWay: 0,
      endedAt: -Infinity,
    };
    this.#writes.set(key, writes);
    writes.underWay += 1;
    let ended = false;
    return () => {
      if (!ended) {
        ended = true;
        writes.underWay -= 1;
        writes.endedAt = performance.now();
      }
    };
  }

  addSample(sample: Sample): void {
    if (!this.primary || !isSameLog(this.primary, sample)) {
      // Positions of another server or timeline are not comparable.
      this.#samples = [];
      this.#replayedTo = -Infinity;
    }
    const oldest = this.#oldestAllowed();
    this.#samples = this.#samples.filter(({ askedAt }) => askedAt >= oldest);
    this.#samples.push(sample);
    for (const [key, { underWay, endedAt }] of this.#writes) {
      if (underWay === 0 && endedAt <= oldest) {
        this.#writes.delete(key);
      }
    }
  }

  /** @param sample - the newest sample that the replica has replayed, if any */
  setReplayed(sample: Sample | undefined): void {
    this.#replayedTo = sample?.askedAt ?? -Infinity;
  }

  #oldestAllowed(): number {
    return performance.now() - this.#maxStalenessMs;
  }

  #lastWriteOf(tenantId: string): number {
    const writes = this.#writes.get(keyOf(tenantId));
    return writes?.underWay ? Infinity : writes?.endedAt ?? -Infinity;
  }
}

/** UUIDs may be in either case. The pool refuses other texts. */
function keyOf(tenantId: string): string {
  return String(tenantId).toLowerCase();
}

function isSameLog(one: LogPosition, other: LogPosition): boolean {
  return (
    one.systemId === other.systemId &&
    one.database === other.database &&
    one.timeline === other.timeline
  );
}

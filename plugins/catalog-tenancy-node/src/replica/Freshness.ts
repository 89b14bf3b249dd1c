import type { LogPosition } from './statements';

/** Instead of a tenant: a write to rows of any tenants. */
export const ALL_TENANTS = '*';

/** The end of the primary's log at some moment. */
export interface Sample extends LogPosition {
  /**
   * When the primary was asked, by `performance.now()`. The log ended there or later,
   * so the position covers what was committed before.
   */
  askedAt: number;
}

interface TenantWrites {
  /** How many have not ended. */
  underWay: number;
  /** When the last of them ended, by `performance.now()`. */
  endedAt: number;
}

// So that a replica far behind is not asked about hours of the log at once.
const MAX_PENDING = 50;

/**
 * Which reads the replica can answer, by the clock of this process alone: the end of the
 * primary's log is sampled again and again, and a replica that has replayed a sample
 * shows everything that was committed before the sample was asked for. Thus a read
 * needs a sample that is younger than the limit, and younger than the last write of
 * its tenant in this process.
 */
export class Freshness {
  /** How often the primary is to be asked. */
  readonly intervalMs: number;

  readonly #maxStalenessMs: number;
  // The oldest first, and all of one server and timeline.
  #samples: Sample[] = [];
  // The moment of the newest sample that is replayed.
  #replayedTo = -Infinity;
  readonly #writes = new Map<string, TenantWrites>();

  constructor(maxStalenessMs: number) {
    this.#maxStalenessMs = maxStalenessMs;
    this.intervalMs = Math.min(1_000, maxStalenessMs / 4);
  }

  /** The primary as it last was. */
  get primary(): Sample | undefined {
    return this.#samples.at(-1);
  }

  /** Whether the primary was asked within the time that answers may be old. */
  get isPrimaryKnown(): boolean {
    return (this.primary?.askedAt ?? -Infinity) >= this.#oldestAllowed();
  }

  /** Whether reads may go to the replica, those of tenants with newer writes aside. */
  get isReplicaFresh(): boolean {
    return this.#replayedTo >= this.#oldestAllowed();
  }

  /** Whether writes that a sample covers wait for the replica. */
  get isCatchingUp(): boolean {
    const sampledAt = this.primary?.askedAt ?? -Infinity;
    return this.#hasWriteEndedIn(this.#replayedTo, sampledAt);
  }

  /** Whether a sample is due: by time, or because a write has ended since the last. */
  get isSampleDue(): boolean {
    const sampledAt = this.primary?.askedAt ?? -Infinity;
    return (
      performance.now() - sampledAt >= this.intervalMs ||
      (this.#hasWriteEndedIn(sampledAt, Infinity) &&
        this.pending.length <= MAX_PENDING)
    );
  }

  /** The samples that the replica is to be asked about next: from the last replayed one on. */
  get pending(): Sample[] {
    const first = this.#samples.findIndex(
      ({ askedAt }) => askedAt >= this.#replayedTo,
    );
    return this.#samples.slice(Math.max(first, 0)).slice(0, MAX_PENDING + 1);
  }

  /**
   * What a server must have replayed to answer a read of the tenant: the least, for of
   * several replicas behind one name another one may answer. Nothing if the replica
   * has not replayed as much.
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
   * Notes a write from before it begins, whatever its outcome: one whose connection was
   * lost may have been committed.
   *
   * @returns what to call at its end
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
      // Positions in the log of another server, or of another branch, mean nothing here.
      this.#samples = [];
      this.#replayedTo = -Infinity;
    }
    const oldest = this.#oldestAllowed();
    let keptAt = -Infinity;
    this.#samples = this.#samples.filter(({ askedAt }) => {
      // After writes there are more of them than have to be kept once replayed.
      const isSpare =
        askedAt < this.#replayedTo && askedAt - keptAt < this.intervalMs / 2;
      const isKept = askedAt >= oldest && !isSpare;
      keptAt = isKept ? askedAt : keptAt;
      return isKept;
    });
    this.#samples.push(sample);
    for (const [key, { underWay, endedAt }] of this.#writes) {
      if (underWay === 0 && endedAt <= oldest) {
        this.#writes.delete(key);
      }
    }
  }

  /** @param sample - the newest that the replica has replayed, if it has any */
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

  #hasWriteEndedIn(after: number, until: number): boolean {
    return [...this.#writes.values()].some(
      ({ underWay, endedAt }) =>
        underWay === 0 && endedAt > after && endedAt <= until,
    );
  }
}

/** One UUID may come in two cases. The pool refuses what is not a UUID. */
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

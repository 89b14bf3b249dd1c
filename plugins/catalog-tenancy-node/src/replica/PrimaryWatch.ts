import type { LoggerService } from '@backstage/backend-plugin-api';
import type { ClientConfig } from 'pg';
import type { TenancyPool } from '../pool';
import { createProbe } from './createProbe';
import { PrimaryLog, type Sample } from './PrimaryLog';
import { QuietLogger } from './QuietLogger';
import { Repeated } from './Repeated';
import { type PrimaryRow, selectPrimary, toPrimaryFacts } from './statements';
import { Writes } from './Writes';

/** Asks the primary again and again where its log ends, and at once after a write. */
export class PrimaryWatch {
  /** What this process has written. */
  readonly writes: Writes;
  /** How long it rests between two questions. */
  readonly intervalMs: number;

  readonly #log: PrimaryLog;
  readonly #pool: TenancyPool;
  readonly #asking: Repeated;
  readonly #onAnswer: () => void;

  /** @param options - with `onAnswer`, which is told of each time it was asked */
  static start(options: {
    connection: ClientConfig;
    schema: string;
    maxStalenessMs: number;
    logger: LoggerService;
    onAnswer: () => void;
  }): PrimaryWatch {
    return new PrimaryWatch(options);
  }

  private constructor(options: Parameters<typeof PrimaryWatch.start>[0]) {
    const { maxStalenessMs, logger } = options;
    this.intervalMs = Math.min(1_000, maxStalenessMs / 4);
    this.#log = new PrimaryLog({ maxStalenessMs, intervalMs: this.intervalMs });
    this.#pool = createProbe({ ...options, logger: new QuietLogger(logger) });
    this.#onAnswer = options.onAnswer;
    this.writes = new Writes(() => this.#asking.wake());
    this.#asking = Repeated.start(
      () => this.#ask(),
      () => this.intervalMs,
    );
  }

  /** The primary as it was last known. */
  get latest(): Sample | undefined {
    return this.#log.latest;
  }

  /** {@inheritDoc PrimaryLog.required} */
  required(): Sample | undefined {
    return this.#log.required();
  }

  async close(): Promise<void> {
    await this.#asking.close();
    await this.#pool.close();
  }

  async #ask(): Promise<void> {
    const askedAt = performance.now();
    try {
      const [row] = await this.#pool.query<PrimaryRow>(selectPrimary);
      const sample = { ...toPrimaryFacts(row), askedAt };
      this.#log.add(sample);
      this.writes.cover(sample);
    } catch {
      // Its pool has told why. Without it the replica is soon too old for all.
    }
    this.writes.forget(this.#log.required());
    this.#onAnswer();
  }
}

import type { LoggerService } from '@backstage/backend-plugin-api';
import { ServiceUnavailableError } from '@backstage/errors';
import { setTimeout as delay } from 'node:timers/promises';
import { AdminAccessError, DatabaseStatementError } from '../pool/errors';

const CAPACITY = 10_000;
const BATCH = 500;
/**
 * How long an event without a waiting caller is held back: to join a batch, and for its caller to
 * {@link AuditQueue.take} it.
 */
const LINGER_MS = 100;
const LONGEST_RETRY_MS = 5_000;
/** A conflict, a deadlock or a lock timeout: a later attempt may succeed. */
const MOMENTARY = /^(40...|55P03)$/;
/** A foreign key: the tenant was purged, and its trail with it. */
const TENANT_GONE = '23503';
/** How long `add` waits for room, `store` for the write, and `stop` for all that is queued. */
const LONGEST_WAIT_MS = 10_000;

/** An entry replaces a queued entry with the same id: it is a later state of the same event. */
interface Entry {
  event_id: string;
}

interface Pending<TEntry> {
  entry: TEntry;
  /** Called when the entry is stored or dropped. */
  waiting: (() => void)[];
  /** When it was queued, by `performance.now()`. */
  since: number;
  /** Stored or dropped, although others of its batch are still to be written. */
  isDone?: boolean;
}

/**
 * Writes entries in batches, one batch at a time; entries that arrive during a write go into
 * the next batch. A failed write is repeated with the same entries.
 */
export class AuditQueue<TEntry extends Entry> {
  readonly #write: (entries: TEntry[]) => Promise<void>;
  readonly #describe: (entry: TEntry) => string;
  readonly #logger: LoggerService;
  #pending = new Map<string, Pending<TEntry>>();
  #written: readonly Pending<TEntry>[] = [];
  #roomAsked: (() => void)[] = [];
  #running: Promise<void> | undefined;
  /** Ends the wait in `#linger`. */
  #hurry = () => {};
  #isStopping = false;
  #isWithheld = false;

  constructor(options: {
    write: (entries: TEntry[]) => Promise<void>;
    /** The entry for the log, without secrets. */
    describe: (entry: TEntry) => string;
    logger: LoggerService;
  }) {
    this.#write = options.write;
    this.#describe = options.describe;
    this.#logger = options.logger;
  }

  /**
   * Queues an entry as soon as there is room, and does not wait until it is stored.
   *
   * @throws ServiceUnavailableError if the queue stays full for 10 seconds
   */
  async add(entry: TEntry): Promise<void> {
    while (this.#pending.size >= CAPACITY) {
      const freed = new Promise<void>(resolve => this.#roomAsked.push(resolve));
      if (!(await isInTime(freed))) {
        throw new ServiceUnavailableError(
          'The audit trail cannot be written at the moment: try again later',
        );
      }
    }
    this.#put(entry, []);
  }

  /**
   * Queues an entry.
   *
   * Resolves when the entry is stored, or after 10 seconds; the entry then stays in the queue.
   */
  async store(entry: TEntry): Promise<void> {
    await isInTime(
      new Promise<void>(resolve => {
        this.#put(entry, [resolve]);
        this.#hurry();
      }),
    );
  }

  /**
   * Removes an entry that the caller stores itself.
   *
   * @returns false while it is being written
   */
  take(id: string): boolean {
    this.#pending.delete(id);
    return this.#written.every(({ entry }) => entry.event_id !== id);
  }

  /**
   * Resolves when the queue is empty, or after 10 seconds: a database that is away must not keep
   * the process from ending. Later entries are written without delay.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#hurry();
    if (this.#running && !(await isInTime(this.#running))) {
      this.#withhold('the process ends, and the last events are lost');
    }
  }

  #put(entry: TEntry, waiting: (() => void)[]): void {
    if (this.#isWithheld) {
      waiting.forEach(resolve => resolve());
      return;
    }
    this.#merge({ entry, waiting, since: performance.now() });
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    let retryMs = 0;
    while (this.#pending.size > 0) {
      await this.#linger();
      const batch = this.#due();
      batch.forEach(({ entry }) => this.#pending.delete(entry.event_id));
      this.#roomAsked.splice(0).forEach(resolve => resolve());
      if (batch.length === 0) {
        continue;
      }
      this.#written = batch;
      try {
        await this.#writeEach(batch);
        retryMs = 0;
      } catch (error) {
        this.#putBack(batch);
        retryMs = Math.min(Math.max(100, retryMs * 2), LONGEST_RETRY_MS);
        this.#logger.warn(
          `${
            this.#pending.size
          } events of audit trails wait to be stored: ${error}`,
        );
        await delay(retryMs);
      } finally {
        this.#written = [];
      }
    }
    // Synchronously with the check that the queue is empty: an entry that arrives later must
    // start a new run.
    this.#running = undefined;
  }

  /** Those that a caller waits for, and those that no caller has taken in time. */
  #due(): Pending<TEntry>[] {
    const latest = this.#isStopping ? Infinity : performance.now() - LINGER_MS;
    return [...this.#pending.values()]
      .filter(({ since, waiting }) => waiting.length > 0 || since <= latest)
      .slice(0, BATCH);
  }

  /** Resolves when an entry may be due. */
  async #linger(): Promise<void> {
    if (this.#due().length === 0) {
      const [{ since }] = this.#pending.values();
      const ms = since + LINGER_MS - performance.now();
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, Math.max(ms, 1));
        this.#hurry = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** @throws if the database is unavailable, or refuses an entry for a moment */
  async #writeEach(batch: Pending<TEntry>[]): Promise<void> {
    try {
      await this.#write(batch.map(({ entry }) => entry));
    } catch (error) {
      if (error instanceof AdminAccessError) {
        this.#withhold(error.message);
      } else if (!(error instanceof DatabaseStatementError)) {
        throw error;
      } else if (batch.length > 1) {
        // One entry that PostgreSQL refuses must not block the others.
        let momentary: DatabaseStatementError | undefined;
        for (const pending of batch) {
          try {
            await this.#writeEach([pending]);
          } catch (cause) {
            if (!(cause instanceof DatabaseStatementError)) {
              throw cause;
            }
            momentary = cause;
          }
        }
        if (momentary) {
          throw momentary;
        }
        return;
      } else if (MOMENTARY.test(error.sqlState)) {
        throw error;
      } else if (error.sqlState !== TENANT_GONE) {
        this.#logger.error(
          `An event of an audit trail could not be stored: ${this.#describe(
            batch[0].entry,
          )}`,
          error,
        );
      }
    }
    for (const pending of batch) {
      pending.isDone = true;
      pending.waiting.forEach(resolve => resolve());
    }
  }

  #withhold(reason: string): void {
    this.#isWithheld = true;
    this.#logger.warn(`Audit trails are not stored: ${reason}`);
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    this.#roomAsked.splice(0).forEach(resolve => resolve());
    pending.forEach(({ waiting }) => waiting.forEach(resolve => resolve()));
  }

  /** Puts failed entries back at the front; a later state of the same event replaces one. */
  #putBack(batch: Pending<TEntry>[]): void {
    if (this.#isWithheld) {
      return;
    }
    const later = this.#pending;
    this.#pending = new Map(
      batch
        .filter(({ isDone }) => !isDone)
        .map(pending => [pending.entry.event_id, pending]),
    );
    later.forEach(pending => this.#merge(pending));
  }

  #merge({ entry, waiting, since }: Pending<TEntry>): void {
    const before = this.#pending.get(entry.event_id);
    this.#pending.set(entry.event_id, {
      entry,
      waiting: [...(before?.waiting ?? []), ...waiting],
      since: before?.since ?? since,
    });
  }
}

function isInTime(done: Promise<void>): Promise<boolean> {
  return new Promise(resolve => {
    const timer = setTimeout(() => resolve(false), LONGEST_WAIT_MS);
    timer.unref();
    done.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

import type { LoggerService } from '@backstage/backend-plugin-api';
import { ServiceUnavailableError } from '@backstage/errors';
import { setTimeout as delay } from 'node:timers/promises';
import { AdminAccessError, DatabaseStatementError } from '../pool/errors';

const CAPACITY = 10_000;
const BATCH = 500;
/** For how long an event that nobody waits for is held back, so that others go with it. */
const LINGER_MS = 100;
const LONGEST_RETRY_MS = 5_000;
/** For how long an operation waits, at its beginning for room and at its end to be stored. */
const LONGEST_WAIT_MS = 10_000;

/** What can be queued: an entry with the id of an earlier one is a later state of it. */
interface Entry {
  event_id: string;
}

interface Pending<TEntry> {
  entry: TEntry;
  /** Called when it is stored, or given up. */
  waiting: (() => void)[];
}

/**
 * Writes entries in batches, one at a time: whatever comes during a write goes with the next.
 * Where a write fails it is repeated, so that entries leave the queue only when they are stored.
 */
export class AuditQueue<TEntry extends Entry> {
  readonly #write: (entries: TEntry[]) => Promise<void>;
  readonly #describe: (entry: TEntry) => string;
  readonly #logger: LoggerService;
  #pending = new Map<string, Pending<TEntry>>();
  #written: readonly Pending<TEntry>[] = [];
  #roomAsked: (() => void)[] = [];
  #running: Promise<void> | undefined;
  /** Ends the wait for others, while there is one. */
  #hurry = () => {};
  #isStopping = false;
  #isWithheld = false;

  constructor(options: {
    write: (entries: TEntry[]) => Promise<void>;
    /** Without secrets, for the log. */
    describe: (entry: TEntry) => string;
    logger: LoggerService;
  }) {
    this.#write = options.write;
    this.#describe = options.describe;
    this.#logger = options.logger;
  }

  /**
   * Queues an entry that nobody waits for, once there is room.
   *
   * @throws ServiceUnavailableError where there is none for 10 seconds
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
   * @returns when it is stored, or after 10 seconds: it stays in the queue then
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
   * Takes an entry out of the queue, which nobody waits for, so that it is stored elsewhere.
   *
   * @returns false while it is being written
   */
  take(id: string): boolean {
    const isWritten = this.#written.some(({ entry }) => entry.event_id === id);
    if (!isWritten) {
      this.#pending.delete(id);
    }
    return !isWritten;
  }

  /** Resolves when nothing is queued. Entries that come later are written at once. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#hurry();
    await this.#running;
  }

  #put(entry: TEntry, waiting: (() => void)[]): void {
    if (this.#isWithheld) {
      waiting.forEach(resolve => resolve());
      return;
    }
    const before = this.#pending.get(entry.event_id)?.waiting ?? [];
    this.#pending.set(entry.event_id, {
      entry,
      waiting: [...before, ...waiting],
    });
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  async #run(): Promise<void> {
    let retryMs = 0;
    // In the same turn that finds the queue empty, or an entry would wait for the next one.
    while (this.#pending.size > 0) {
      await this.#linger();
      const batch = [...this.#pending.values()].slice(0, BATCH);
      batch.forEach(({ entry }) => this.#pending.delete(entry.event_id));
      this.#roomAsked.splice(0).forEach(resolve => resolve());
      if (batch.length === 0) {
        break;
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
  }

  async #linger(): Promise<void> {
    const isAwaited = [...this.#pending.values()].some(
      ({ waiting }) => waiting.length > 0,
    );
    if (!isAwaited && !this.#isStopping) {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, LINGER_MS);
        this.#hurry = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** @throws where the database can't be written to at the moment */
  async #writeEach(batch: Pending<TEntry>[]): Promise<void> {
    try {
      await this.#write(batch.map(({ entry }) => entry));
    } catch (error) {
      if (error instanceof AdminAccessError) {
        this.#withhold(error);
      } else if (!(error instanceof DatabaseStatementError)) {
        throw error;
      } else if (batch.length > 1) {
        // One that PostgreSQL refuses must not keep the others out.
        for (const pending of batch) {
          await this.#writeEach([pending]);
        }
        return;
      } else {
        this.#logger.error(
          `An event of an audit trail could not be stored: ${this.#describe(
            batch[0].entry,
          )}`,
          error,
        );
      }
    }
    batch.forEach(({ waiting }) => waiting.forEach(resolve => resolve()));
  }

  #withhold(error: AdminAccessError): void {
    this.#isWithheld = true;
    this.#logger.warn(`Audit trails are not stored: ${error.message}`);
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    pending.forEach(({ waiting }) => waiting.forEach(resolve => resolve()));
  }

  /** In front of the others, unless there is a later state of it. */
  #putBack(batch: Pending<TEntry>[]): void {
    const later = this.#pending;
    this.#pending = new Map(
      batch.map(pending => [pending.entry.event_id, pending]),
    );
    for (const [id, { entry, waiting }] of later) {
      const before = this.#pending.get(id)?.waiting ?? [];
      this.#pending.set(id, { entry, waiting: [...before, ...waiting] });
    }
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

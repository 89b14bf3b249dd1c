import type { LoggerService } from '@backstage/backend-plugin-api';
import {
  adopt,
  OtherOperatorError,
  readAdoption,
  type Reporter,
} from 'backstage-catalog-tenancy-migrations';
import { setTimeout as delay } from 'node:timers/promises';
import type { CatalogDatabase } from './CatalogDatabase';
import { forgetIntent } from './intent';
import { retryKeptAside } from './retryKeptAside';
import { warnOfFaults } from './warnOfFaults';

// Another process of the backend, or an operator, is at work.
const POLL_MS = 500;

/**
 * How the entities that the engine of the stock catalog has become those of the
 * default tenant.
 *
 * @public
 */
export interface CatalogAdoption {
  /**
   * Whether the catalog of the default tenant can be read. Before that it would look
   * empty, or as if a part of it were all.
   */
  readonly isComplete: boolean;

  /**
   * Adopts the catalog, or waits until another process has. It does nothing once that
   * is complete. It needs the tables of the stock catalog, which the catalog plugin
   * makes at its start.
   *
   * @throws `MigrationError` of one kind or another, which says what to do; another
   * attempt goes on where this one has ended
   */
  complete(signal?: AbortSignal): Promise<void>;

  /**
   * Tries again to carry over what could not be, if there is anything. It does nothing
   * while the adoption is not complete, or another process works on the tables.
   *
   * @throws `MigrationError` of one kind or another, which says what to do
   */
  retryFaults(): Promise<void>;
}

/** Nothing is to be adopted: there is no engine to adopt from. */
export const COMPLETE_ADOPTION: CatalogAdoption = {
  isComplete: true,
  complete: async () => {},
  retryFaults: async () => {},
};

/** An adoption that was complete when this backend started. */
export class FormerAdoption implements CatalogAdoption {
  readonly isComplete = true;
  readonly #database: CatalogDatabase;
  readonly #logger: LoggerService;

  constructor(options: { database: CatalogDatabase; logger: LoggerService }) {
    this.#database = options.database;
    this.#logger = options.logger;
  }

  async complete(): Promise<void> {}

  async retryFaults(): Promise<void> {
    await retryKeptAside(this.#database, this.#logger);
  }
}

/** An adoption that this backend is to make. */
export class PendingAdoption implements CatalogAdoption {
  readonly #database: CatalogDatabase;
  readonly #logger: LoggerService;
  #isComplete = false;

  constructor(options: { database: CatalogDatabase; logger: LoggerService }) {
    this.#database = options.database;
    this.#logger = options.logger;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  async complete(signal?: AbortSignal): Promise<void> {
    let isWaiting = false;
    while (!this.#isComplete) {
      try {
        await this.#attempt();
      } catch (error) {
        if (!(error instanceof OtherOperatorError)) {
          throw error;
        }
        if (!isWaiting) {
          this.#logger.info(`The adoption waits: ${error.message}`);
          isWaiting = true;
        }
        await delay(POLL_MS, undefined, { signal });
      }
    }
  }

  async retryFaults(): Promise<void> {
    if (this.#isComplete) {
      await retryKeptAside(this.#database, this.#logger);
    }
  }

  async #attempt(): Promise<void> {
    const database = this.#database;
    let status = await readAdoption(database);
    if (!status.adopted) {
      status = await adopt({ ...database, reporter: reporterOf(this.#logger) });
      this.#logger.info(
        'The catalog is adopted: the default tenant has what its engine ingests',
      );
    }
    this.#isComplete = true;
    await forgetIntent(database);
    warnOfFaults(status, this.#logger);
  }
}

function reporterOf(logger: LoggerService): Reporter {
  return {
    info: message => logger.debug(message),
    warn: message => logger.warn(message),
    waiting: (what, attempts) =>
      logger.info(`Waiting for a lock (attempt ${attempts}): ${what}`),
    progress: () => ({ advance: () => {}, finish: () => {} }),
  };
}

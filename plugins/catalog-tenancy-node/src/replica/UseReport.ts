import type { LoggerService } from '@backstage/backend-plugin-api';

/** One line when the replica is used, and one when it no longer is. */
export class UseReport {
  readonly #logger: LoggerService;
  #used: boolean | undefined;

  constructor(logger: LoggerService) {
    this.#logger = logger;
  }

  used(): void {
    if (!this.#used) {
      this.#used = true;
      this.#logger.info('Catalogs are read from the read replica');
    }
  }

  lost(reason: string): void {
    if (this.#used !== false) {
      this.#used = false;
      this.#logger.warn(
        `Catalogs are read from the primary, and not from the read replica: ${reason}`,
      );
    }
  }
}

import type { LoggerService } from '@backstage/backend-plugin-api';
import type { JsonObject } from '@backstage/types';

/**
 * For connections whose faults nobody has to know of one by one: it tells them at the
 * level `debug`, and keeps the last.
 */
export class QuietLogger implements LoggerService {
  /** What was told last. */
  last: string | undefined;

  readonly #logger: LoggerService;

  constructor(logger: LoggerService) {
    this.#logger = logger;
  }

  error(message: string, meta?: Error | JsonObject): void {
    this.#tell(message, meta);
  }

  warn(message: string, meta?: Error | JsonObject): void {
    this.#tell(message, meta);
  }

  info(message: string, meta?: Error | JsonObject): void {
    this.#tell(message, meta);
  }

  debug(message: string, meta?: Error | JsonObject): void {
    this.#tell(message, meta);
  }

  child(meta: JsonObject): LoggerService {
    return new QuietLogger(this.#logger.child(meta));
  }

  #tell(message: string, meta?: Error | JsonObject): void {
    this.last = message;
    this.#logger.debug(`Read replica: ${message}`, meta);
  }
}

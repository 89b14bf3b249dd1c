import {
  NotImplementedError,
  ServiceUnavailableError,
} from '@backstage/errors';

/**
 * There is no connection to the database, or there was none in time. What was
 * asked for may be tried again. Over HTTP it becomes status 503, with a
 * `Retry-After` where {@link retryAfter} is in use.
 *
 * A transaction whose commit was under way when its connection was lost may have
 * taken effect.
 *
 * @public
 */
export class DatabaseUnavailableError extends ServiceUnavailableError {
  /** After how many seconds it is worth another try. */
  readonly retryAfterSeconds: number;

  constructor(message: string, retryAfterSeconds: number = 1) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * `portal_admin` is not granted to the database user: whoever migrated the database
 * withheld it. Over HTTP it becomes status 501.
 *
 * @public
 */
export class AdminAccessError extends NotImplementedError {}

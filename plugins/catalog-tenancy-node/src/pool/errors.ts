import {
  CustomErrorBase,
  NotImplementedError,
  ServiceUnavailableError,
} from '@backstage/errors';

/**
 * There is no connection to the database, there was none in time, or the tables of
 * tenants are not there. Over HTTP it becomes status 503, with a `Retry-After` where
 * {@link retryAfter} is in use.
 *
 * @public
 */
export class DatabaseUnavailableError extends ServiceUnavailableError {
  /** After how many seconds it is worth another try. */
  readonly retryAfterSeconds: number;

  /**
   * The connection was lost while a commit may have been under way: a change may
   * have been made. Otherwise it was not.
   */
  readonly outcomeUnknown: boolean;

  constructor(
    message: string,
    options: { retryAfterSeconds?: number; outcomeUnknown?: boolean } = {},
  ) {
    super(message);
    this.retryAfterSeconds = options.retryAfterSeconds ?? 1;
    this.outcomeUnknown = options.outcomeUnknown ?? false;
  }
}

/**
 * PostgreSQL has stopped a statement: it took too long, or somebody cancelled it.
 * Nothing of its transaction stays. Over HTTP it becomes status 503.
 *
 * @public
 */
export class DatabaseTimeoutError extends ServiceUnavailableError {
  /** After how many seconds it is worth another try. */
  readonly retryAfterSeconds = 10;

  /** PostgreSQL's code for it. */
  get sqlState(): string {
    return '57014';
  }
}

/**
 * PostgreSQL has refused a statement. Nothing of its transaction stays.
 *
 * What PostgreSQL said may hold data, and is not part of the error.
 *
 * @public
 */
export class DatabaseStatementError extends CustomErrorBase {
  /** Tells the error apart once it is serialized. */
  name = 'DatabaseStatementError' as const;

  // Private, for what is not would be part of the body of a response.
  readonly #sqlState: string;
  readonly #constraint: string | undefined;

  constructor(message: string, sqlState: string, constraint?: string) {
    super(message);
    this.#sqlState = sqlState;
    this.#constraint = constraint;
  }

  /** PostgreSQL's code for it, such as `23505` where a key is taken. */
  get sqlState(): string {
    return this.#sqlState;
  }

  /** The constraint that does not hold, if it is one. */
  get constraint(): string | undefined {
    return this.#constraint;
  }
}

/**
 * `portal_admin` is not granted to the database user: whoever migrated the database
 * withheld it. Over HTTP it becomes status 501.
 *
 * @public
 */
export class AdminAccessError extends NotImplementedError {}

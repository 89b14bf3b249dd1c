import type { LoggerService } from '@backstage/backend-plugin-api';
import {
  CustomErrorBase,
  NotImplementedError,
  ServiceUnavailableError,
} from '@backstage/errors';
import { operatorCommand } from 'backstage-catalog-tenancy-migrations';
import type { ErrorRequestHandler } from 'express';
import { DatabaseError } from 'pg';

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
 * The tenant has as many operations under way and waiting as it may have, or this one has
 * waited too long for those before it. Nothing was changed. Over HTTP it becomes status 429,
 * with a `Retry-After` where {@link retryAfter} is in use.
 *
 * @public
 */
export class TenantBusyError extends CustomErrorBase {
  /** Tells the error apart once it is serialized. */
  name = 'TenantBusyError' as const;

  constructor() {
    super(
      'The tenant has too many requests under way at the moment: send this one again later',
    );
  }

  // Getters, for other properties would be part of the body of a response.

  /** As HTTP has it. */
  get statusCode(): number {
    return 429;
  }

  /** After how many seconds it is worth another try. */
  get retryAfterSeconds(): number {
    return 1;
  }
}

/**
 * Nothing of the tenant is changed at the moment, as it moves to another deployment. Over HTTP it
 * becomes status 503, with a `Retry-After` where {@link retryAfter} is in use.
 *
 * @public
 */
export class TenantReadOnlyError extends ServiceUnavailableError {
  /** After how many seconds it is worth another try. */
  readonly retryAfterSeconds = 10;

  constructor(tenantSlug: string) {
    super(
      `The tenant '${tenantSlug}' is read-only while it is moved: try again later`,
    );
  }
}

/**
 * PostgreSQL has stopped a statement: it took too long or was cancelled.
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
 * `portal_admin` is not granted to the database user: the operator withheld it in the
 * migration. Over HTTP it becomes status 501.
 *
 * @public
 */
export class AdminAccessError extends NotImplementedError {}

// Out of resources, shut down or starting, or read-only after a failover: it may
// work again soon, on another connection.
const UNAVAILABLE = /^(08...|53...|57P0.|25006|25P03)$/;

// The sender of a statement handles these: bad values, constraints,
// serialization, missing rights, cancellation.
const EXPECTED = /^(22...|23...|40...|42501|55P03|57014)$/;

// The migration has not made a table or a function of ours yet, or has taken it back.
const UNDEFINED = ['42P01', '3F000'];
const UNDEFINED_FUNCTION = '42883';
const OUR_FUNCTIONS = /\b(tenant_required|entity_terms_\w+|tenancy_\w+)\(/;

// What Citus appends to the names of a distributed table and of its constraints on the node
// that refuses: the number of the shard, from 102008 on.
const SHARD = /_\d{6,}(?="?$)/;

// A statement that Citus planned before the rows of its tenant went to another shard or node.
const MOVED = /^could not find valid entry for shard /;

// Citus has sent a commit to a node and has lost it before it answered.
const LOST_AT_COMMIT = /^could not commit transaction for shard /;

// The way forward, or out of it, takes an operator.
const RETRY_WHEN_READY_SECONDS = 10;

/** What PostgreSQL says of itself or of the connection: another one may do. */
export function isUnusable(error: Error): error is DatabaseError {
  return error instanceof DatabaseError && UNAVAILABLE.test(error.code ?? '');
}

/**
 * What `begin` fails with where it looks for the tables of tenants and they are not
 * there, or the database user has lost the right to their schema.
 */
export function isNotReady({ code = '', routine }: DatabaseError): boolean {
  return (
    UNDEFINED.includes(code) ||
    // What PostgreSQL calls its own check of rights, whatever the language of its
    // messages: to act as another role is refused elsewhere.
    (code === '42501' && routine === 'aclcheck_error')
  );
}

/** Why a transaction has failed. */
export interface Failure {
  /** Of PostgreSQL, or of `pg`. */
  error: Error;
  /** `begin`: nothing of the caller was run. */
  phase: 'begin' | 'statement' | 'commit';
  /** The connection is gone. */
  lost: boolean;
  /** The connection was lost while PostgreSQL may have committed. */
  outcomeUnknown: boolean;
}

/**
 * The error that callers get. It holds nothing of the statement, of its values, or
 * of any row; what PostgreSQL said goes into the log.
 */
export function toCallerError(
  { error, phase, lost, outcomeUnknown }: Failure,
  { schema, logger }: { schema: string; logger: LoggerService },
): Error {
  if (outcomeUnknown || (lost && !(error instanceof DatabaseError))) {
    logger.warn(`The connection to the database was lost: ${error.message}`);
    return lostConnection(outcomeUnknown);
  }
  if (isUnusable(error)) {
    const reason = reasonOf(error);
    logger.warn(`${reason}: ${error.message}`);
    return new DatabaseUnavailableError(`${reason}, and nothing was changed`);
  }
  if (!(error instanceof DatabaseError)) {
    logger.warn(`A statement can't be sent to the database: ${error.message}`);
    return new Error(
      `A statement can't be sent to the database: the log of the backend says why`,
    );
  }
  if (phase === 'begin' && isNotReady(error)) {
    logger.warn(
      `The tables of tenants are not in place in the schema "${schema}" ` +
        `(${error.message}), so none is served. "${operatorCommand(
          'status',
        )}" ` +
        'names the command that completes phase 5; or set ' +
        'MULTI_TENANCY_ENABLED=false, and restart the backend.',
    );
    return notReady(
      'The catalogs of tenants are not available at the moment: their tables are not in place',
    );
  }
  const sqlState = error.code ?? 'XX000';
  const report = `A statement has failed: ${error.message} (${sqlState})`;
  if (EXPECTED.test(sqlState)) {
    logger.debug(report);
  } else {
    logger.warn(report);
  }
  if (isUndefined(error, sqlState)) {
    return notReady(
      `A table of tenants is missing from the schema "${schema}" of the database: ` +
        'the migration makes it. Where the catalog is not adopted yet, ' +
        `"${operatorCommand('adopt')}" comes first; ` +
        `"${operatorCommand('status')}" names what comes next.`,
    );
  }
  if (sqlState === 'XX000' && LOST_AT_COMMIT.test(error.message)) {
    return lostConnection(phase === 'commit');
  }
  if (sqlState === 'XX000' && MOVED.test(error.message)) {
    return new DatabaseUnavailableError(
      'The entities of the tenant are being moved to another server, and nothing was changed',
    );
  }
  if (sqlState === '57014') {
    return new DatabaseTimeoutError(
      'The database stopped a statement, which took too long or was cancelled',
    );
  }
  return new DatabaseStatementError(
    messageOf(error, sqlState),
    sqlState,
    error.constraint?.replace(SHARD, ''),
  );
}

function lostConnection(outcomeUnknown: boolean): DatabaseUnavailableError {
  return new DatabaseUnavailableError(
    outcomeUnknown
      ? 'The connection to the database was lost before it answered: a change may or may not have been made'
      : 'The connection to the database was lost, and nothing was changed',
    { outcomeUnknown },
  );
}

function reasonOf({ code = '' }: DatabaseError): string {
  const reasons: Record<string, string> = {
    '25': 'is read-only at the moment',
    '53': 'has no connection, memory or disk space left',
  };
  const reason = code === '25P03' ? undefined : reasons[code.slice(0, 2)];
  return `The database ${
    reason ?? 'has ended the connection'
  } (SQLSTATE ${code})`;
}

function notReady(message: string): DatabaseUnavailableError {
  return new DatabaseUnavailableError(message, {
    retryAfterSeconds: RETRY_WHEN_READY_SECONDS,
  });
}

/** Something of ours is not there, which a rollback may have taken away meanwhile. */
function isUndefined({ message }: DatabaseError, sqlState: string): boolean {
  return (
    UNDEFINED.includes(sqlState) ||
    (sqlState === UNDEFINED_FUNCTION && OUR_FUNCTIONS.test(message))
  );
}

function messageOf(error: DatabaseError, sqlState: string): string {
  switch (sqlState) {
    case '42501':
      // It names a table, and nothing else. The specification has it as a symptom.
      return error.message.replace(SHARD, '');
    case '23505':
      return 'The database refused a statement: a key is taken (SQLSTATE 23505)';
    default:
      return `The database refused a statement (SQLSTATE ${sqlState})`;
  }
}

/**
 * Tells clients when to try again, in the header `Retry-After`, after a
 * {@link DatabaseUnavailableError}, a {@link DatabaseTimeoutError} or a
 * {@link TenantBusyError}. The error itself is passed on.
 *
 * @public
 */
export function retryAfter(): ErrorRequestHandler {
  return (error, _request, response, next) => {
    const seconds = error?.retryAfterSeconds;
    if (typeof seconds === 'number' && !response.headersSent) {
      response.setHeader('Retry-After', String(seconds));
    }
    next(error);
  };
}

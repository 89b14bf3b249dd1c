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
 * There is no connection to the database, or none in time, or the tables are not in place. HTTP
 * status 503, with `Retry-After` if {@link retryAfter} is used.
 *
 * @public
 */
export class DatabaseUnavailableError extends ServiceUnavailableError {
  /** After how many seconds it is worth another try. */
  readonly retryAfterSeconds: number;

  /**
   * The connection was lost during the commit, which may have taken effect. If false, nothing
   * was changed.
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
 * The tenant's queue of operations is full, or the operation waited in it for too long. Nothing
 * was changed. HTTP status 429, with `Retry-After` if {@link retryAfter} is used.
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

  // Getters, because Backstage puts other properties into the body of the response.

  /** The HTTP status. */
  get statusCode(): number {
    return 429;
  }

  /** After how many seconds it is worth another try. */
  get retryAfterSeconds(): number {
    return 1;
  }
}

/**
 * The tenant is read-only while it moves to another deployment. HTTP status 503, with
 * `Retry-After` if {@link retryAfter} is used.
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
 * PostgreSQL stopped a statement that took too long or was cancelled. Its transaction is rolled
 * back. HTTP status 503.
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
 * PostgreSQL refused a statement. Its transaction is rolled back.
 *
 * PostgreSQL's message may contain data, and is not part of the error.
 *
 * @public
 */
export class DatabaseStatementError extends CustomErrorBase {
  /** Tells the error apart once it is serialized. */
  name = 'DatabaseStatementError' as const;

  // Private, because Backstage puts other properties into the body of the response.
  readonly #sqlState: string;
  readonly #constraint: string | undefined;

  constructor(message: string, sqlState: string, constraint?: string) {
    super(message);
    this.#sqlState = sqlState;
    this.#constraint = constraint;
  }

  /** PostgreSQL's error code, such as `23505` for a duplicate key. */
  get sqlState(): string {
    return this.#sqlState;
  }

  /** The violated constraint, if any. */
  get constraint(): string | undefined {
    return this.#constraint;
  }
}

/**
 * `portal_admin` is not granted to the database user: the operator withheld it in the
 * migration. HTTP status 501.
 *
 * @public
 */
export class AdminAccessError extends NotImplementedError {}

/**
 * PostgreSQL refused or stopped this statement. Work that goes over all tenants continues with the
 * next one; any other error, such as a lost connection, would end that too.
 */
export function isAboutStatement(
  error: unknown,
): error is DatabaseStatementError | DatabaseTimeoutError {
  return (
    error instanceof DatabaseStatementError ||
    error instanceof DatabaseTimeoutError
  );
}

// Out of resources, shutting down or starting, or read-only after a failover: a retry on
// another connection may succeed.
const UNAVAILABLE = /^(08...|53...|57P0.|25006|25P03)$/;

// Callers handle these: bad values, constraints, serialization, missing rights, cancellation.
const EXPECTED = /^(22...|23...|40...|42501|55P03|57014)$/;

// A table or function of the migration is missing, or was rolled back.
const UNDEFINED = ['42P01', '3F000'];
const UNDEFINED_FUNCTION = '42883';
const UNDEFINED_COLUMN = '42703';
const OUR_COLUMNS =
  /\b(concurrency|requests_per_second|burst|read_only_until)\b/;
const OUR_FUNCTIONS = /\b(tenant_required|entity_terms_\w+|tenancy_\w+)\(/;

// Citus appends the number of the shard, from 102008 on, to names of tables and constraints.
const SHARD = /_\d{6,}(?="?$)/;

// Citus planned the statement before the tenant's rows moved to another shard or node.
const MOVED = /^could not find valid entry for shard /;

// Citus lost the connection to a node during the commit.
const LOST_AT_COMMIT = /^could not commit transaction for shard /;

// The triggers that refuse writes of a tenant while `tenant move` runs. The detail is its slug.
const TENANT_MOVES = 'tenant_moves';

// Longer, because an operator has to act.
const RETRY_WHEN_READY_SECONDS = 10;

/** The server or the connection is unusable; another connection may work. */
export function isUnusable(error: Error): error is DatabaseError {
  return error instanceof DatabaseError && UNAVAILABLE.test(error.code ?? '');
}

/**
 * `begin` failed because the tables are not in place, or the database user lost its right to
 * their schema.
 */
export function isNotReady({ code = '', routine }: DatabaseError): boolean {
  return (
    UNDEFINED.includes(code) ||
    // The routine that checks rights on objects, in every language of messages. SET ROLE is
    // refused by another one.
    (code === '42501' && routine === 'aclcheck_error')
  );
}

/** The failure of a transaction. */
export interface Failure {
  /** An error of PostgreSQL or of `pg`. */
  error: Error;
  /** `begin`: no statement of the caller was run. */
  phase: 'begin' | 'statement' | 'commit';
  /** The connection is gone. */
  lost: boolean;
  /** The connection was lost while PostgreSQL may have committed. */
  outcomeUnknown: boolean;
  /** No statement of the caller was one that writes. */
  onlyReads: boolean;
}

/**
 * Converts a failure to the error for callers. It contains no statement, values or rows;
 * PostgreSQL's message is logged.
 */
export function toCallerError(
  { error, phase, lost, outcomeUnknown, onlyReads }: Failure,
  { schema, logger }: { schema: string; logger: LoggerService },
): Error {
  if (outcomeUnknown || (lost && !(error instanceof DatabaseError))) {
    logger.warn(`The connection to the database was lost: ${error.message}`);
    return lostConnection({ outcomeUnknown, onlyReads });
  }
  if (error instanceof DatabaseError && error.constraint === TENANT_MOVES) {
    return new TenantReadOnlyError(error.detail ?? '');
  }
  if (isUnusable(error)) {
    const reason = reasonOf(error);
    logger.warn(`${reason}: ${error.message}`);
    return new DatabaseUnavailableError(`${reason}, and nothing was changed`);
  }
  if (!(error instanceof DatabaseError)) {
    logger.warn(`Cannot send a statement to the database: ${error.message}`);
    return new Error(
      `Cannot send a statement to the database: see the log of the backend`,
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
      `A table of tenants, or a column of one, is missing from the schema "${schema}" of the database: ` +
        'the migration makes it. Where the catalog is not adopted yet, ' +
        `"${operatorCommand('adopt')}" comes first; ` +
        `"${operatorCommand('status')}" names what comes next.`,
    );
  }
  if (sqlState === 'XX000' && LOST_AT_COMMIT.test(error.message)) {
    return lostConnection({ outcomeUnknown: phase === 'commit', onlyReads });
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

function lostConnection({
  outcomeUnknown,
  onlyReads,
}: Pick<Failure, 'outcomeUnknown' | 'onlyReads'>): DatabaseUnavailableError {
  const change = outcomeUnknown
    ? ' before it answered: a change may or may not have been made'
    : ', and nothing was changed';
  return new DatabaseUnavailableError(
    `The connection to the database was lost${onlyReads ? '' : change}`,
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

/**
 * A table, column or function of the migration is missing, for example because of a rollback or
 * before its end.
 */
function isUndefined({ message }: DatabaseError, sqlState: string): boolean {
  return (
    UNDEFINED.includes(sqlState) ||
    (sqlState === UNDEFINED_COLUMN && OUR_COLUMNS.test(message)) ||
    (sqlState === UNDEFINED_FUNCTION && OUR_FUNCTIONS.test(message))
  );
}

function messageOf(error: DatabaseError, sqlState: string): string {
  switch (sqlState) {
    case '42501':
      // The message names only a table. The specification lists it as a symptom.
      return error.message.replace(SHARD, '');
    case '23505':
      return 'The database refused a statement: a key is taken (SQLSTATE 23505)';
    default:
      return `The database refused a statement (SQLSTATE ${sqlState})`;
  }
}

/**
 * An error handler that sets the header `Retry-After` for errors with `retryAfterSeconds`, such
 * as {@link DatabaseUnavailableError}, {@link DatabaseTimeoutError} and {@link
 * TenantBusyError}. It passes the error on.
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

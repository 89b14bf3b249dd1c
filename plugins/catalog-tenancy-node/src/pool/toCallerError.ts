import type { LoggerService } from '@backstage/backend-plugin-api';
import { operatorCommand } from 'backstage-catalog-tenancy-migrations';
import { DatabaseError } from 'pg';
import {
  DatabaseStatementError,
  DatabaseTimeoutError,
  DatabaseUnavailableError,
} from './errors';
import type { BatchOutcome } from './Batch';

// Out of resources, shut down or starting, or read-only after a failover: it may
// work again soon, on another connection.
const UNAVAILABLE = /^(08...|53...|57P0.|25006|25P03)$/;

// Whoever sent the statement has to reckon with these: bad values, constraints,
// serialization, missing rights, cancellation.
const EXPECTED = /^(22...|23...|40...|42501|55P03|57014)$/;

// The migration has not made a table or a function of ours yet, or has taken it back.
const UNDEFINED = ['42P01', '3F000'];
const UNDEFINED_FUNCTION = '42883';
const OUR_FUNCTIONS = /\b(tenant_required|entity_search_\w+|tenancy_\w+)\(/;

// The way forward, or out of it, takes an operator.
const RETRY_WHEN_READY_SECONDS = 10;

/** Its connection is gone, or is of no use: another one may do. */
export function isUnusable({ lost, error }: BatchOutcome): boolean {
  const code = error instanceof DatabaseError ? error.code : undefined;
  return lost || UNAVAILABLE.test(code ?? '');
}

/**
 * What `enter` fails with where it looks for the tables of tenants and they are not
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

export interface FailedBatch {
  outcome: BatchOutcome & { error: Error };
  /** It may have been committed, if the connection was lost. */
  committing: boolean;
  /** Nothing of the caller was run. */
  failedToEnter: boolean;
  schema: string;
  logger: LoggerService;
}

/**
 * The error that callers get. It holds nothing of the statement, of its values, or
 * of the rows of anybody; what PostgreSQL said goes into the log.
 */
export function toCallerError(failed: FailedBatch): Error {
  const { outcome, committing, failedToEnter, schema, logger } = failed;
  const { error } = outcome;
  if (isUnusable(outcome)) {
    logger.warn(`The database did not answer: ${error.message}`);
    return lostConnection(outcome.lost && outcome.sent && committing);
  }
  if (!(error instanceof DatabaseError)) {
    logger.warn(`A value can't be sent to the database: ${error.message}`);
    return new Error(`A value of a statement can't be sent to the database`);
  }
  if (failedToEnter && isNotReady(error)) {
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
  if (sqlState === '57014') {
    return new DatabaseTimeoutError(
      'The database stopped a statement, which took too long or was cancelled',
    );
  }
  return new DatabaseStatementError(
    messageOf(error, sqlState),
    sqlState,
    error.constraint,
  );
}

function lostConnection(outcomeUnknown: boolean): DatabaseUnavailableError {
  return new DatabaseUnavailableError(
    outcomeUnknown
      ? 'The connection to the database was lost before it answered: a change may or may not have been made'
      : 'The database is not available at the moment, and nothing was changed',
    { outcomeUnknown },
  );
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
      return error.message;
    case '23505':
      return 'The database refused a statement: a key is taken (SQLSTATE 23505)';
    default:
      return `The database refused a statement (SQLSTATE ${sqlState})`;
  }
}

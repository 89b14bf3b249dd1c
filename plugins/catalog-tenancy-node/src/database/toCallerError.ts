import type { LoggerService } from '@backstage/backend-plugin-api';
import { operatorCommand } from 'backstage-catalog-tenancy-migrations';
import { DatabaseError } from 'pg';
import {
  DatabaseStatementError,
  DatabaseTimeoutError,
  DatabaseUnavailableError,
} from './errors';
import type { BatchOutcome } from './protocol/Batch';

// Out of resources, shut down or starting, or read-only after a failover: it may
// work again soon, on another connection.
const UNAVAILABLE = /^(08...|53...|57P0.|25006|25P03)$/;

// Whoever sent the statement has to reckon with these: bad values, constraints,
// serialization, missing rights, cancellation.
const EXPECTED = /^(22...|23...|40...|42501|55P03|57014)$/;

/** Its connection is gone, or is of no use: another one may do. */
export function isUnusable({ lost, error }: BatchOutcome): boolean {
  const code = error instanceof DatabaseError ? error.code : undefined;
  return lost || UNAVAILABLE.test(code ?? '');
}

export interface FailedBatch {
  outcome: BatchOutcome & { error: Error };
  /** It may have been committed, if the connection was lost. */
  committing: boolean;
  schema: string;
  logger: LoggerService;
}

/**
 * The error that callers get. It holds nothing of the statement, of its values, or
 * of the rows of anybody; what PostgreSQL said goes into the log.
 */
export function toCallerError(failed: FailedBatch): Error {
  const { outcome, committing, schema, logger } = failed;
  const { error } = outcome;
  if (isUnusable(outcome)) {
    logger.warn(`The database did not answer: ${error.message}`);
    return lostConnection(outcome.lost && outcome.sent && committing);
  }
  if (!(error instanceof DatabaseError)) {
    logger.warn(`A value can't be sent to the database: ${error.message}`);
    return new Error(`A value of a statement can't be sent to the database`);
  }
  const sqlState = error.code ?? 'XX000';
  const report = `A statement has failed: ${error.message} (${sqlState})`;
  if (EXPECTED.test(sqlState)) {
    logger.debug(report);
  } else {
    logger.warn(report);
  }
  if (sqlState === '57014') {
    return new DatabaseTimeoutError(
      'The database stopped a statement, which took too long or was cancelled',
    );
  }
  return new DatabaseStatementError(
    messageOf(error, sqlState, schema),
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

function messageOf(
  error: DatabaseError,
  sqlState: string,
  schema: string,
): string {
  switch (sqlState) {
    case '42501':
      // It names a table, and nothing else. The specification has it as a symptom.
      return error.message;
    case '42P01':
      return (
        `A table of tenants is missing from the schema "${schema}" of the database: ` +
        'the migration makes it. Where the catalog is not adopted yet, ' +
        `"${operatorCommand('adopt')}" comes first; ` +
        `"${operatorCommand('status')}" names what comes next.`
      );
    case '23505':
      return 'The database refused a statement: a key is taken (SQLSTATE 23505)';
    default:
      return `The database refused a statement (SQLSTATE ${sqlState})`;
  }
}

import type { LoggerService } from '@backstage/backend-plugin-api';
import {
  InputError,
  ServiceUnavailableError,
  toError,
} from '@backstage/errors';
import { TenantReadOnlyError } from 'backstage-plugin-catalog-tenancy-node';

// PostgreSQL documentation, appendix A.
const CHECK_VIOLATION = '23514';
const INVALID_DATETIME_FORMAT = '22007';
const DATETIME_FIELD_OVERFLOW = '22008';
const CHARACTER_NOT_IN_REPERTOIRE = '22021';
const UNTRANSLATABLE_CHARACTER = '22P05';

// Shutting down, crashed, starting up, idle timeout, too many connections, and read-only, such
// as a standby after a failover.
const UNREACHABLE_CODES = new Set([
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '53300',
  '25006',
]);

/** What the triggers call themselves that refuse writes of a tenant while `tenant move` runs. */
const TENANT_MOVES = 'tenant_moves';

/**
 * Runs an operation and maps PostgreSQL's errors about the caller's values or the server's
 * state to Backstage's errors. These contain no statements, addresses or details of rows.
 */
export async function withMappedErrors<T>(
  logger: LoggerService,
  operation: () => Promise<T>,
): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    const { constraint, detail } = fieldsOf(error);
    if (constraint === TENANT_MOVES) {
      throw new TenantReadOnlyError(detail);
    }
    if (isUnreachable(error)) {
      logger.error('The database cannot be reached', toError(error));
      throw new ServiceUnavailableError(
        'The database of the mockup plugin cannot be reached, try again later',
      );
    }
    throw toInputError(error) ?? error;
  }
}

function isUnreachable(error: unknown): boolean {
  const { name, code, message, syscall } = fieldsOf(error);
  return (
    UNREACHABLE_CODES.has(code) ||
    // Errors of the operating system, such as ECONNREFUSED or EAI_AGAIN
    syscall !== '' ||
    /^E[A-Z_]+$/.test(code) ||
    // Class 08, connection exceptions
    /^08[0-9A-Z]{3}$/.test(code) ||
    // The pool had no free connection and could open none in time
    name === 'KnexTimeoutError' ||
    // Errors of the driver without a code; Knex prefixes its statement, such as ROLLBACK
    /(^| - )(Connection terminated|Client has encountered a connection error|timeout e)/.test(
      message,
    )
  );
}

function toInputError(error: unknown): InputError | undefined {
  const { code, constraint } = fieldsOf(error);
  if (code === CHECK_VIOLATION) {
    return new InputError(
      `The value breaks the constraint '${constraint}' of the mockup database`,
    );
  }
  if (
    code === CHARACTER_NOT_IN_REPERTOIRE ||
    code === UNTRANSLATABLE_CHARACTER
  ) {
    return new InputError(
      'The value has a character that the mockup database cannot store, such as NUL',
    );
  }
  if (code === INVALID_DATETIME_FORMAT || code === DATETIME_FIELD_OVERFLOW) {
    return new InputError(
      'The mockup database cannot store a time. Expected ISO 8601 and UTC, such as 2026-01-31T12:00:00.000Z',
    );
  }
  return undefined;
}

function fieldsOf(error: unknown) {
  const {
    name = '',
    code = '',
    message = '',
    constraint = '',
    detail = '',
    syscall = '',
  } = (error ?? {}) as Record<string, string | undefined>;
  return {
    name,
    code: String(code),
    message: String(message),
    constraint,
    detail,
    syscall,
  };
}

import { InputError } from '@backstage/errors';
import { DatabaseStatementError } from 'backstage-plugin-catalog-tenancy-node';

// PostgreSQL documentation, appendix A.
const CHECK_VIOLATION = '23514';
const INVALID_DATETIME_FORMAT = '22007';
const DATETIME_FIELD_OVERFLOW = '22008';
const CHARACTER_NOT_IN_REPERTOIRE = '22021';
const INVALID_TEXT_REPRESENTATION = '22P02';
const UNTRANSLATABLE_CHARACTER = '22P05';

/** Runs an operation, and maps PostgreSQL's errors about the caller's values to `InputError`. */
export async function withMappedErrors<T>(
  operation: () => Promise<T>,
): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw error instanceof DatabaseStatementError
      ? toInputError(error) ?? error
      : error;
  }
}

function toInputError({
  sqlState,
  constraint,
}: DatabaseStatementError): InputError | undefined {
  switch (sqlState) {
    case CHECK_VIOLATION:
      return new InputError(
        `The value breaks the constraint '${constraint}' of the mockup database`,
      );
    case CHARACTER_NOT_IN_REPERTOIRE:
    case UNTRANSLATABLE_CHARACTER:
      return new InputError(
        'The value has a character that the mockup database cannot store, such as NUL',
      );
    case INVALID_DATETIME_FORMAT:
    case DATETIME_FIELD_OVERFLOW:
      return new InputError(
        'The mockup database cannot store a time. Expected ISO 8601 and UTC, such as 2026-01-31T12:00:00.000Z',
      );
    case INVALID_TEXT_REPRESENTATION:
      // The only values that nothing has checked as a whole are the snapshots of cursors.
      return new InputError(
        'Invalid query: cursor must be from a page of this list, got one that the mockup database cannot read',
      );
    default:
      return undefined;
  }
}

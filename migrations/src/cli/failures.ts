import { DatabaseError } from 'pg';
import { EXIT_CODES, MigrationError } from '../errors';

/** A failure in the form in which it is printed. */
export interface Failure {
  name: string;
  message: string;
  exitCode: number;
}

/** Where PostgreSQL gives no hint. */
const ADVICE: Record<string, string | undefined> = {
  23503: 'Delete the rows that refer to it, and run the same command again.',
  // Also of a query on a standby that stands in the way of the replay.
  40001:
    'Run the same command again. On a standby, turn hot_standby_feedback on before, or raise max_standby_streaming_delay.',
  42501: 'Connect as the owner of what it names, or as a superuser.',
  53400:
    'Let a superuser raise that limit for the login, such as by "alter role … set temp_file_limit = …", and run the same command again.',
};

/** Explains an error, without SQL and without a stack. */
export function explainFailure(error: unknown): Failure {
  if (error instanceof MigrationError) {
    const { name, message, exitCode } = error;
    return { name, message, exitCode };
  }
  if (!(error instanceof DatabaseError)) {
    const { name, message } =
      error instanceof Error ? error : new Error(String(error));
    return unexpected(name, message || name);
  }
  const { code = '', detail, hint = ADVICE[code], message } = error;
  return unexpected(
    'DatabaseError',
    [
      `PostgreSQL: ${message}${code ? ` (SQLSTATE ${code})` : ''}`,
      ...(detail ? [`Detail: ${detail}`] : []),
      ...(hint ? [`Hint: ${hint}`] : []),
    ].join('\n'),
  );
}

function unexpected(name: string, message: string): Failure {
  return { name, message, exitCode: EXIT_CODES.unexpected };
}

import { Client, DatabaseError } from 'pg';
import type { ClientConfig } from 'pg';
import { EXIT_CODES, MigrationError } from '../errors';

/** A failure in the form in which it is printed. */
export interface Failure {
  name: string;
  message: string;
  exitCode: number;
}

/** SQLSTATEs by which PostgreSQL refuses a connection: login, database, number. */
const REFUSED = /^(28...|3D000|53300|57P03)$/;

/** Failures of Node.js and of `pg` to connect, by their codes and messages. */
const UNREACHED =
  /^(connect|getaddrinfo) |timeout expired|certificate|SSL|client password|Connection terminated/;

/** Explains an error, without SQL and without a stack. */
export function explainFailure(
  error: unknown,
  connection?: ClientConfig,
): Failure {
  if (error instanceof MigrationError) {
    const { name, message, exitCode } = error;
    return { name, message, exitCode };
  }
  // A host name with several addresses has an error for each.
  const cause = error instanceof AggregateError ? error.errors[0] : error;
  const message = messageOf(cause);
  if (connection && isOfConnection(cause)) {
    // With libpq's environment variables; without `stream`, which would be opened.
    const { host, port, user, database } = new Client({
      ...connection,
      stream: undefined,
    });
    return unexpected(
      'ConnectionError',
      `Can't connect to the database "${database}" at ${host}:${port} as "${user}": ${message}.`,
    );
  }
  if (!(cause instanceof DatabaseError)) {
    return unexpected(cause instanceof Error ? cause.name : 'Error', message);
  }
  const { code, detail, hint } = cause;
  return unexpected(
    'DatabaseError',
    [
      `PostgreSQL: ${message}${code ? ` (SQLSTATE ${code})` : ''}`,
      ...(detail ? [`Detail: ${detail}`] : []),
      ...(hint ? [`Hint: ${hint}`] : []),
    ].join('\n'),
  );
}

function isOfConnection(error: unknown): boolean {
  return error instanceof DatabaseError
    ? REFUSED.test(error.code ?? '')
    : UNREACHED.test(messageOf(error));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}

function unexpected(name: string, message: string): Failure {
  return { name, message, exitCode: EXIT_CODES.unexpected };
}

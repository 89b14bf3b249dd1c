import { DatabaseError } from 'pg';
import type { ClientConfig } from 'pg';
import { EXIT_CODES, MigrationError } from '../errors';
import { targetOf } from './connection';
import type { Target } from './connection';

/** A failure in the form in which it is printed. */
export interface Failure {
  name: string;
  message: string;
  exitCode: number;
}

type Explanation = (target: Target) => string;

const UNREACHABLE: Explanation = ({ host, port }) =>
  `The database server at ${host}:${port} can't be reached: nothing accepts connections there.`;
const SILENT: Explanation = ({ host, port }) =>
  `The database server at ${host}:${port} does not answer.`;
const UNKNOWN_HOST: Explanation = ({ host }) =>
  `The host of the database, "${host}", is not known: expected the name or the address of a server.`;
const UNTRUSTED: Explanation = ({ host, port }) =>
  `The certificate of the database server at ${host}:${port} is not trusted. Name ` +
  'its authority in the connection (ssl.ca, sslrootcert) or in NODE_EXTRA_CA_CERTS.';

/** Failures to connect, by the codes of Node.js and the SQLSTATEs of PostgreSQL. */
const CONNECTION_FAILURES: Record<string, Explanation> = {
  ECONNREFUSED: UNREACHABLE,
  ENOENT: UNREACHABLE,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  ETIMEDOUT: SILENT,
  ECONNRESET: ({ host, port }) =>
    `The database server at ${host}:${port} ended the connection before it was made.`,
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  '28P01': ({ host, port, user }) =>
    `The database server at ${host}:${port} refused the password of user "${user}".`,
  '28000': ({ host, port, user, database }) =>
    `The database server at ${host}:${port} does not let user "${user}" into the database "${database}".`,
  '3D000': ({ host, port, database }) =>
    `The database "${database}" does not exist on ${host}:${port}. The migration never ` +
    'creates one: name the database of the catalog.',
  '53300': ({ host, port }) =>
    `The database server at ${host}:${port} has no connection left.`,
};

// Errors of `pg` that have no code.
const CONNECTION_MESSAGES: [RegExp, Explanation][] = [
  [/timeout expired/, SILENT],
  [
    /client password must be a (non-empty )?string/,
    ({ host, port, user }) =>
      `The database server at ${host}:${port} asks for the password of user "${user}", and none was given.`,
  ],
  [
    /server does not support SSL/,
    ({ host, port }) =>
      `The database server at ${host}:${port} does not support encryption, which the connection asks for.`,
  ],
];

/** Explains an error, without SQL and without a stack. */
export function explainFailure(
  error: unknown,
  connection?: ClientConfig,
): Failure {
  if (error instanceof MigrationError) {
    const { name, message, exitCode } = error;
    return { name, message, exitCode };
  }
  const explanation = connection && connectionFailure(error, connection);
  return explanation
    ? unexpected('ConnectionError', explanation)
    : unexpected(nameOf(error), messageOf(error));
}

function unexpected(name: string, message: string): Failure {
  return { name, message, exitCode: EXIT_CODES.unexpected };
}

function connectionFailure(
  error: unknown,
  connection: ClientConfig,
): string | undefined {
  // A host name with several addresses has an error for each.
  const causes = error instanceof AggregateError ? error.errors : [];
  for (const cause of [error, ...causes]) {
    const { code, message } = (cause ?? {}) as NodeJS.ErrnoException;
    const explanation =
      CONNECTION_FAILURES[code ?? ''] ??
      CONNECTION_MESSAGES.find(([pattern]) => pattern.test(message ?? ''))?.[1];
    if (explanation) {
      return explanation(targetOf(connection));
    }
  }
  return undefined;
}

function nameOf(error: unknown): string {
  if (error instanceof DatabaseError) {
    return 'DatabaseError';
  }
  return error instanceof Error ? error.name : 'Error';
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const message = error.message || error.name;
  if (!(error instanceof DatabaseError)) {
    return message;
  }
  return [
    `PostgreSQL: ${message}${error.code ? ` (SQLSTATE ${error.code})` : ''}`,
    ...(error.detail ? [`Detail: ${error.detail}`] : []),
    ...(error.hint ? [`Hint: ${error.hint}`] : []),
  ].join('\n');
}

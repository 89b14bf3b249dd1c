/** Tells a program why a server did not start. */
export type FailureCode =
  | 'PORT_TAKEN'
  | 'DIRECTORY_UNUSABLE'
  | 'DIRECTORY_IN_USE'
  | 'OTHER_MAJOR_VERSION'
  | 'VERSION_UNAVAILABLE'
  | 'CANNOT_RUN'
  | 'FAILED';

/**
 * Says on one line, meant for a person, why the server did not start; its
 * `code` says the same to a program.
 *
 * @public
 */
export class PostgresStartError extends Error {
  readonly code: FailureCode;

  constructor(code: FailureCode, message: string) {
    super(message);
    this.name = 'PostgresStartError';
    this.code = code;
  }
}

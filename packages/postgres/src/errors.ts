import { FailureCode } from './protocol';

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

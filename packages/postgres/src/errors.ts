/**
 * Says on one line, meant for a person, why the server did not start.
 *
 * @public
 */
export class PostgresStartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PostgresStartError';
  }
}

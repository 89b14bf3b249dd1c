// @ts-check
'use strict';

/**
 * Something that the caller of `Postgres.start` can act upon. Its code and its
 * message travel to the parent process and become a PostgresStartError there.
 */
class Failure extends Error {
  /**
   * @param {import('../src/protocol').FailureCode} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

module.exports = { Failure };

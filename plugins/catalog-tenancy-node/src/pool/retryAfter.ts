import type { ErrorRequestHandler } from 'express';
import { DatabaseTimeoutError, DatabaseUnavailableError } from './errors';

/**
 * Tells clients when to try again, in the header `Retry-After`, after a
 * {@link DatabaseUnavailableError} or a {@link DatabaseTimeoutError}. The error itself is passed on.
 *
 * @public
 */
export function retryAfter(): ErrorRequestHandler {
  return (error, _request, response, next) => {
    const temporary =
      error instanceof DatabaseUnavailableError ||
      error instanceof DatabaseTimeoutError;
    if (temporary && !response.headersSent) {
      response.setHeader('Retry-After', String(error.retryAfterSeconds));
    }
    next(error);
  };
}

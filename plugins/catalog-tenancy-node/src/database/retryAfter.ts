import type { ErrorRequestHandler } from 'express';
import { DatabaseUnavailableError } from './errors';

/**
 * Tells clients when to try again, in the header `Retry-After`, after a
 * {@link DatabaseUnavailableError}. The error itself is passed on.
 *
 * @public
 */
export function retryAfter(): ErrorRequestHandler {
  return (error, _request, response, next) => {
    if (error instanceof DatabaseUnavailableError && !response.headersSent) {
      response.setHeader('Retry-After', String(error.retryAfterSeconds));
    }
    next(error);
  };
}

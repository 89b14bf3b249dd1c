import { CustomErrorBase, InputError, isError } from '@backstage/errors';
import express, { type Request, type Response } from 'express';
import { promisify } from 'node:util';

const JSON_TYPE = 'application/json';

class UnsupportedMediaTypeError extends CustomErrorBase {
  name = 'UnsupportedMediaTypeError' as const;
  readonly statusCode = 415;
}

class PayloadTooLargeError extends CustomErrorBase {
  name = 'PayloadTooLargeError' as const;
  readonly statusCode = 413;
}

/**
 * Makes what reads the JSON body of a request, up to a number of bytes.
 *
 * Handlers call it after they know the caller, and it is not mounted in front of all
 * routes. So a plugin never reads a body that the caller may not send, and an
 * unreadable body is a failure of its operation, in metrics and audit log too.
 *
 * @returns a function that returns nothing if there is no body, and throws `InputError` if
 * the body is not JSON, or an error with status 413 or 415
 */
export function createBodyReader(options: {
  limit: number;
  /** Returns the text, for a caller that parses it piece by piece. */
  asText?: boolean;
}): (req: Request, res: Response) => Promise<unknown> {
  const { limit, asText = false } = options;
  // Not strict: a caller that sends a text or `null` gets the schema's error, which
  // names the expected form.
  const parse = promisify(
    asText
      ? express.text({ limit, type: JSON_TYPE })
      : express.json({ limit, type: JSON_TYPE, strict: false }),
  );
  return async (req, res) => {
    if (isEmpty(req)) {
      return undefined;
    }
    if (!req.is(JSON_TYPE)) {
      throw new UnsupportedMediaTypeError(
        `The Content-Type must be ${JSON_TYPE}, got ${JSON.stringify(
          req.get('Content-Type') ?? '',
        )}`,
      );
    }
    try {
      await parse(req, res);
    } catch (error) {
      throw toRequestError(error, limit);
    }
    return req.body;
  };
}

function isEmpty(req: Request): boolean {
  const hasLength = Number(req.get('Content-Length') ?? 0) > 0;
  return !hasLength && req.get('Transfer-Encoding') === undefined;
}

/** The parser's errors carry the whole body, which would come back in the answer. */
function toRequestError(error: unknown, limit: number): unknown {
  if (!isError(error)) {
    return error;
  }
  switch (error.type) {
    case 'entity.too.large':
      return new PayloadTooLargeError(
        `The request body is larger than ${limit} bytes`,
      );
    case 'charset.unsupported':
    case 'encoding.unsupported':
      return new UnsupportedMediaTypeError(error.message);
    case 'entity.parse.failed':
      return new InputError(
        `The request body is not valid JSON: ${error.message}`,
      );
    default:
      return typeof error.status === 'number' && error.status < 500
        ? new InputError(`The request body cannot be read: ${error.message}`)
        : error;
  }
}

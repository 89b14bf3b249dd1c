import { CustomErrorBase, InputError, isError } from '@backstage/errors';
import express, { type Request, type Response } from 'express';
import { promisify } from 'node:util';

const LARGEST_BODY = 100 * 1024;
const JSON_TYPE = 'application/json';

class UnsupportedMediaTypeError extends CustomErrorBase {
  name = 'UnsupportedMediaTypeError' as const;
  readonly statusCode = 415;
}

class PayloadTooLargeError extends CustomErrorBase {
  name = 'PayloadTooLargeError' as const;
  readonly statusCode = 413;
}

// Not strict: a caller that sends a text or `null` gets the schema's error, which
// names the expected form.
const readJson = promisify(
  express.json({ limit: LARGEST_BODY, type: JSON_TYPE, strict: false }),
);

/**
 * Reads the body of a request. Handlers call it after authorization.
 *
 * @returns nothing if there is none
 * @throws InputError if it is not JSON
 */
export async function readBody(req: Request, res: Response): Promise<unknown> {
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
    await readJson(req, res);
  } catch (error) {
    throw toRequestError(error);
  }
  return req.body;
}

function isEmpty(req: Request): boolean {
  const hasLength = Number(req.get('Content-Length') ?? 0) > 0;
  return !hasLength && req.get('Transfer-Encoding') === undefined;
}

/** The parser's errors carry the whole body, which would come back in the answer. */
function toRequestError(error: unknown): unknown {
  if (!isError(error)) {
    return error;
  }
  switch (error.type) {
    case 'entity.too.large':
      return new PayloadTooLargeError(
        `The request body is larger than ${LARGEST_BODY} bytes`,
      );
    case 'charset.unsupported':
    case 'encoding.unsupported':
      return new UnsupportedMediaTypeError(error.message);
    default:
      return typeof error.status === 'number' && error.status < 500
        ? new InputError(`The request body is not valid JSON: ${error.message}`)
        : error;
  }
}

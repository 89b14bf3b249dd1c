import { CustomErrorBase, InputError, isError } from '@backstage/errors';
import { MOCKUP_LIMITS, parseInput } from 'backstage-plugin-mockup-common';
import express, { type Request, type Response } from 'express';
import { promisify } from 'node:util';
import type { z } from 'zod';

class UnsupportedMediaTypeError extends CustomErrorBase {
  name = 'UnsupportedMediaTypeError' as const;
  readonly statusCode = 415;
}

class PayloadTooLargeError extends CustomErrorBase {
  name = 'PayloadTooLargeError' as const;
  readonly statusCode = 413;
}

const readJson = promisify(
  express.json({ limit: MOCKUP_LIMITS.bodyBytes, type: 'application/json' }),
);

/**
 * Reads and parses the body of a request.
 *
 * Handlers call it after they know the caller; the parser is not mounted in front
 * of all routes. So the plugin never reads a body that the caller may not send, and
 * an unreadable body is a failure of its operation, in metrics and audit log too.
 *
 * @throws InputError if the body is not JSON or not what the schema expects
 */
export async function parseBody<TSchema extends z.ZodType>(
  req: Request,
  res: Response,
  schema: TSchema,
): Promise<z.output<TSchema>> {
  if (isEmpty(req)) {
    return parseInput(schema, undefined, 'request body');
  }
  if (!req.is('application/json')) {
    throw new UnsupportedMediaTypeError(
      `The Content-Type must be application/json, got ${JSON.stringify(
        req.get('Content-Type') ?? '',
      )}`,
    );
  }
  try {
    await readJson(req, res);
  } catch (error) {
    throw toRequestError(error);
  }
  return parseInput(schema, req.body, 'request body');
}

function isEmpty(req: Request): boolean {
  const hasLength = Number(req.get('Content-Length') ?? 0) > 0;
  return !hasLength && req.get('Transfer-Encoding') === undefined;
}

/**
 * The parser's errors carry the whole body, which would come back in the error
 * response.
 */
function toRequestError(error: unknown): unknown {
  if (!isError(error)) {
    return error;
  }
  switch (error.type) {
    case 'entity.too.large':
      return new PayloadTooLargeError(
        `The request body is larger than ${MOCKUP_LIMITS.bodyBytes} bytes`,
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

import { InputError, isError } from '@backstage/errors';
import express, { type Request, type Response } from 'express';
import { promisify } from 'node:util';
import { type BodySchema, findMismatch } from './BodySchema';

const readJson = promisify(express.json());

/**
 * Reads the body of a request, which is to be JSON of a certain form and not longer
 * than the stock catalog takes. Without one it is an empty object.
 *
 * @param options.required - whether there has to be one
 * @throws InputError for a body that is too long, of another type or form, or no JSON
 */
export async function readJsonBody<TBody>(
  req: Request,
  res: Response,
  schema: BodySchema,
  options: { required?: boolean } = {},
): Promise<TBody> {
  const contentType = req.get('Content-Type');
  const mediaType = contentType?.split(';')[0].trim().toLowerCase();
  try {
    await readJson(req, res);
  } catch (error) {
    // The parser's errors carry the whole body, which would come back in the
    // answer. The stock catalog has status 400 for all of them.
    throw isError(error) ? new InputError(error.message) : error;
  }
  if (mediaType && mediaType !== 'application/json') {
    throw new InputError(`unsupported media type ${mediaType}`);
  }
  if (!mediaType && options.required) {
    throw new InputError('media type not specified');
  }
  const body = req.body ?? {};
  const mismatch = mediaType && findMismatch(schema, body, 'request/body');
  if (mismatch) {
    throw new InputError(mismatch);
  }
  return body;
}

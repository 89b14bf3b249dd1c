import { InputError, isError } from '@backstage/errors';
import express, { type Request, type Response } from 'express';
import { promisify } from 'node:util';

const readJson = promisify(express.json());

/**
 * Reads the body of a request, which is to be JSON and not longer than the stock
 * catalog takes.
 *
 * @throws InputError for a body that is too long, of another type, or no JSON
 */
export async function readJsonBody(req: Request, res: Response): Promise<void> {
  const contentType = req.get('Content-Type');
  const mediaType = contentType?.split(';')[0].trim().toLowerCase();
  if (mediaType && mediaType !== 'application/json') {
    throw new InputError(`unsupported media type ${mediaType}`);
  }
  try {
    await readJson(req, res);
  } catch (error) {
    // The parser's errors carry the whole body, which would come back in the
    // answer. The stock catalog has status 400 for all of them.
    throw isError(error) ? new InputError(error.message) : error;
  }
}

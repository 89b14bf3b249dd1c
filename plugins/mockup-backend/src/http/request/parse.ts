import { createBodyReader, readQuery } from '@internal/http';
import { parseInput } from '@internal/http-client';
import { MOCKUP_LIMITS } from 'backstage-plugin-mockup-common';
import type { Request, Response } from 'express';
import type { z } from 'zod';

const readBody = createBodyReader({ limit: MOCKUP_LIMITS.bodyBytes });

/**
 * Reads and parses the body of a request.
 *
 * @param absent - the value of a missing body, if the body is optional
 * @throws InputError if the body is not JSON or not what the schema expects
 */
export async function parseBody<TSchema extends z.ZodType>(
  req: Request,
  res: Response,
  schema: TSchema,
  absent?: z.input<TSchema>,
): Promise<z.output<TSchema>> {
  const body = await readBody(req, res);
  return parseInput(schema, body === undefined ? absent : body, 'request body');
}

/**
 * Parses the query of a request.
 *
 * @throws InputError that names each unknown, missing or malformed parameter
 */
export function parseQuery<TSchema extends z.ZodType>(
  req: Request,
  schema: TSchema,
): z.output<TSchema> {
  return parseInput(schema, readQuery(req), 'query');
}

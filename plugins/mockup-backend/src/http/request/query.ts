import { readQuery } from '@internal/http';
import { parseInput } from 'backstage-plugin-mockup-common';
import type { Request } from 'express';
import type { z } from 'zod';

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

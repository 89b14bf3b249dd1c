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
  return parseInput(schema, withNumbers(req.query), 'query');
}

/** Converts plain decimal numbers, and leaves everything else as text. */
function withNumbers(query: Request['query']): Record<string, unknown> {
  const parsed: Record<string, unknown> = { ...query };
  for (const key of ['limit', 'offset']) {
    const value = parsed[key];
    if (typeof value === 'string' && /^\d+$/.test(value)) {
      parsed[key] = Number(value);
    }
  }
  return parsed;
}

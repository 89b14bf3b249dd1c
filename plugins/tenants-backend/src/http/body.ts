import { createBodyReader } from '@internal/http';
import { parseInput } from '@internal/http-client';
import type { Request, Response } from 'express';
import type { z } from 'zod';

/**
 * Makes what reads and parses the body of a request.
 *
 * @param what - the name of the body in errors
 * @param limit - the most bytes of a body
 * @returns a function that throws `InputError` if the body is not what the schema expects
 */
export function bodyOf<TSchema extends z.ZodType>(
  schema: TSchema,
  what: string,
  { limit }: { limit: number },
): (req: Request, res: Response) => Promise<z.output<TSchema>> {
  const readBody = createBodyReader({ limit });
  return async (req, res) => parseInput(schema, await readBody(req, res), what);
}

import { InputError } from '@backstage/errors';
import {
  createZodV3FilterPredicateSchema,
  type FilterPredicate,
} from '@backstage/filter-predicates';
import type { Request, Response } from 'express';
import { z } from 'zod/v3';
import { fromZodError } from 'zod-validation-error/v3';
import { assertBounded } from './parsePredicate';
import { type BodySchema, OBJECT, readJsonBody, STRINGS } from './parseBody';

export interface EntityRefsRequest {
  entityRefs: string[];
  fields?: string[];
  /** A filter of the entities. */
  query?: FilterPredicate;
}

const body: BodySchema = {
  type: 'object',
  required: ['entityRefs'],
  properties: { entityRefs: STRINGS, fields: STRINGS, query: OBJECT },
};

const schema = z.object({
  entityRefs: z.array(z.string()),
  fields: z.array(z.string()).optional(),
  query: createZodV3FilterPredicateSchema(z).optional(),
});

/**
 * Reads the body of a request for entities by their refs.
 *
 * @throws InputError with the stock catalog's message for an invalid body
 */
export async function parseEntityRefs(
  req: Request,
  res: Response,
): Promise<EntityRefsRequest> {
  const json = await readJsonBody<object>(req, res, body);
  assertBounded(json, 'request body');
  const result = schema.safeParse(json);
  if (!result.success) {
    throw new InputError(
      `Malformed request body (did you remember to specify an application/json content type?), ${fromZodError(
        result.error,
      )}`,
    );
  }
  return result.data;
}

import { InputError } from '@backstage/errors';
import {
  createZodV4FilterPredicateSchema,
  type FilterPredicate,
} from '@backstage/filter-predicates';
import type { Request } from 'express';
import { z } from 'zod';

// Twice as deep as predicates may be: a list is a level too.
const MAX_DEPTH = 250;

export interface EntityRefsRequest {
  entityRefs: string[];
  fields?: string[];
  /** What only those entities have that are to be in the answer. */
  query?: FilterPredicate;
}

const schema: z.ZodType<EntityRefsRequest> = z.object({
  entityRefs: z.array(z.string()),
  fields: z.array(z.string()).optional(),
  query: createZodV4FilterPredicateSchema()
    // Text is a predicate too, but of values, not of entities.
    .refine(query => typeof query === 'object', 'expected an object')
    .optional(),
});

/**
 * Parses the body of a request for entities by their refs.
 *
 * @throws InputError that names what is missing or of another type
 */
export function parseEntityRefs(req: Request): EntityRefsRequest {
  // The schema calls itself for each level, until the stack is full.
  if (isDeeperThan(MAX_DEPTH, req.body)) {
    throw new InputError(
      `Malformed request body, it is nested deeper than ${MAX_DEPTH} levels`,
    );
  }
  const result = schema.safeParse(req.body);
  if (!result.success) {
    const problems = result.error.issues
      .slice(0, 5)
      .map(({ message, path }) =>
        path.length > 0 ? `${message} at "${path.join('.')}"` : message,
      );
    throw new InputError(
      `Malformed request body (did you remember to specify an application/json content type?), ${problems.join(
        '; ',
      )}`,
    );
  }
  return result.data;
}

function isDeeperThan(levels: number, json: unknown): boolean {
  let layer: object[] = [{ json }];
  for (let level = 0; layer.length > 0; level += 1) {
    if (level > levels) {
      return true;
    }
    layer = layer
      .flatMap(holder => Object.values(holder))
      .filter(value => typeof value === 'object' && value !== null);
  }
  return false;
}

import { InputError } from '@backstage/errors';
import { createZodV3FilterPredicateSchema } from '@backstage/filter-predicates';
import { z } from 'zod/v3';
import type { SearchCriteria } from '../../authorization/toFilterPredicate';
import type { EntityCursor } from '../../pages/EntityCursor';
import { assertNotDeeper } from './assertNotDeeper';

const filter: z.ZodType<SearchCriteria> = z.lazy(() =>
  z
    .object({ key: z.string(), values: z.array(z.string()).optional() })
    .or(z.object({ not: filter }))
    .or(z.object({ anyOf: z.array(filter) }))
    .or(z.object({ allOf: z.array(filter) })),
);

const place = z.array(z.string().or(z.null()));

// The order of the keys is that of the cursors that come of it.
const cursor = z.object({
  orderFields: z.array(
    // The stock catalog gives cursors without an order, which it then refuses.
    z.object({ field: z.string(), order: z.enum(['asc', 'desc']).optional() }),
  ),
  fullTextFilter: z
    .object({ term: z.string(), fields: z.array(z.string()).optional() })
    .optional(),
  orderFieldValues: place,
  filter: filter.optional(),
  isPrevious: z.boolean(),
  query: createZodV3FilterPredicateSchema(z).optional(),
  firstSortFieldValues: place.optional(),
  totalItems: z.number().optional(),
});

/**
 * Parses a cursor that an earlier answer pointed at, or that somebody made up.
 *
 * @throws InputError for anything else
 */
export function parseCursor(encoded: string): EntityCursor {
  try {
    const json = JSON.parse(Buffer.from(encoded, 'base64').toString('utf8'));
    assertNotDeeper(json, 'cursor');
    const result = cursor.safeParse(json);
    if (!result.success) {
      throw new InputError(`Malformed cursor: ${result.error}`);
    }
    return result.data;
  } catch (error) {
    throw new InputError(`Malformed cursor: ${error}`);
  }
}

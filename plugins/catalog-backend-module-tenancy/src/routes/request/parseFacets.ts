import { InputError } from '@backstage/errors';
import type { Request, Response } from 'express';
import type { FacetsQuery } from 'backstage-plugin-catalog-tenancy-node';
import { type BodySchema, OBJECT, STRINGS } from './BodySchema';
import { parseFilter } from './parseFilter';
import { parsePredicate } from './parsePredicate';
import { parseQuery } from './parseQuery';
import { readJsonBody } from './readJsonBody';

const schema: BodySchema = {
  type: 'object',
  required: ['facets'],
  properties: { facets: STRINGS, query: OBJECT },
};

/**
 * Parses the parameters of `GET /entity-facets`.
 *
 * @throws InputError that names a parameter that is unknown, malformed or missing
 */
export function parseFacetParameters(query: Request['query']): FacetsQuery {
  const given = parseQuery(
    query,
    { facet: 'strings', filter: 'strings' },
    { required: ['facet'] },
  );
  const filter = parseFilter(given.filter);
  const facets = given.facet?.filter(Boolean) ?? [];
  if (facets.length === 0) {
    throw new InputError('Missing facet parameter');
  }
  return { facets, filter };
}

/**
 * Reads the body of `POST /entity-facets`.
 *
 * @throws InputError that names what is malformed or missing
 */
export async function parseFacetsBody(
  req: Request,
  res: Response,
): Promise<FacetsQuery> {
  const body = await readJsonBody<{ facets: string[]; query?: object }>(
    req,
    res,
    schema,
    { required: true },
  );
  const facets = body.facets.filter(Boolean);
  if (facets.length === 0) {
    throw new InputError('Missing or empty facets parameter');
  }
  return { facets, filter: parsePredicate(body.query) };
}

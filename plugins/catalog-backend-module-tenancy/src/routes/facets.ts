import { InputError } from '@backstage/errors';
import {
  type FacetsQuery,
  parseFilter,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Request, Response, Router } from 'express';
import type { OperationContext, Operations } from './operations';
import {
  type BodySchema,
  OBJECT,
  readJsonBody,
  STRINGS,
} from './request/parseBody';
import { parsePredicate } from './request/parsePredicate';
import { parseQuery } from './request/parseQuery';

const EVENT = { eventId: 'entity-facets' };

/** The routes that count values of entities. */
export function mountFacets(router: Router, operations: Operations): void {
  router.get(
    '/entity-facets',
    operations.read(
      () => ({}),
      context => answer(context, parseFacetParameters(context.req.query)),
      EVENT,
    ),
  );

  router.post(
    '/entity-facets',
    operations.read(
      () => ({}),
      async context => {
        parseQuery(context.req.query, {});
        const query = await parseFacetsBody(context.req, context.res);
        await answer(context, query);
      },
      EVENT,
    ),
  );
}

async function answer(
  { res, tenantId, catalog }: OperationContext,
  query: FacetsQuery,
): Promise<void> {
  res.json({ facets: await catalog.countFacets(tenantId, query) });
}

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
function parseFacetParameters(query: Request['query']): FacetsQuery {
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
async function parseFacetsBody(
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

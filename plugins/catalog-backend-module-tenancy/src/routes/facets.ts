import type { FacetsQuery } from 'backstage-plugin-catalog-tenancy-node';
import type { Router } from 'express';
import type { OperationContext, Operations } from './operations';
import { parseFacetParameters, parseFacetsBody } from './request/parseFacets';
import { parseQuery } from './request/parseQuery';

const EVENT = { eventId: 'entity-facets' };

/** The routes that count the values which entities have. */
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

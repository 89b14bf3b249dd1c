import type { Router } from 'express';
import PromiseRouter from 'express-promise-router';
import { listEntities } from './listEntities';
import type { Operations } from './operations';
import { mountEntityPages } from './entityPages';
import { mountFacets } from './facets';
import { mountSingleEntities } from './singleEntities';
import { parseEntityRefs } from './request/parseEntityRefs';
import { parseFields, projectJson } from './request/parseFields';
import { parseFilter } from './request/parseFilter';
import { parseQuery } from './request/parseQuery';
import { sendEntities, setNextLink } from './response';
import { workSlices } from './workSlices';
import { allOf } from '../predicates';

/**
 * The routes of the catalog that are answered from the entities of the request's
 * tenant, as the stock catalog answers them from its own.
 */
export function createRouter(operations: Operations): Router {
  const router = PromiseRouter();

  router.get(
    '/entities',
    operations.read(
      req => ({
        queryType: 'all',
        query: JSON.parse(JSON.stringify(req.query)),
      }),
      async ({ req, res, tenantId, catalog, assertTenantActive }) => {
        const { parts, tagged, nextPage } = await listEntities(
          req,
          catalog,
          tenantId,
        );
        if (nextPage) {
          setNextLink(req, res, nextPage);
        }
        await sendEntities(res, parts, {
          tagged,
          mayGoOn: assertTenantActive,
        });
      },
    ),
  );

  router.post(
    '/entities/by-refs',
    operations.read(
      () => ({ queryType: 'by-refs' }),
      async ({ req, res, tenantId, catalog }) => {
        const given = parseQuery(req.query, { filter: 'strings' });
        const { entityRefs, fields, query } = await parseEntityRefs(req, res);
        const filter = allOf(parseFilter(given.filter), query);
        const projection = parseFields(fields);
        const found = entityRefs.length
          ? await catalog.readEntitiesByRefs(tenantId, entityRefs, { filter })
          : [];
        const items = projection
          ? await workSlices.map(tenantId, found, json =>
              json === null ? 'null' : projectJson(json, projection),
            )
          : found.map(json => json ?? 'null');
        await sendEntities(res, [items], {
          before: '{"items":',
          after: '}',
          tagged: projection !== undefined,
        });
        return JSON.parse(
          JSON.stringify({ entityRefs, fields, filter: query }),
        );
      },
    ),
  );

  mountEntityPages(router, operations);
  mountSingleEntities(router, operations);
  mountFacets(router, operations);
  return router;
}

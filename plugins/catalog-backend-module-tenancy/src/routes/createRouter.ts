import { stringifyEntityRef } from '@backstage/catalog-model';
import { NotFoundError } from '@backstage/errors';
import { parseFilter } from 'backstage-plugin-catalog-tenancy-node';
import type { Request, Router } from 'express';
import PromiseRouter from 'express-promise-router';
import { listEntities } from './listEntities';
import type { Operations } from './operations';
import { mountEntityPages } from './entityPages';
import { mountFacets } from './facets';
import { parseEntityRefs } from './request/parseEntityRefs';
import { parseFields, projectJson } from './request/parseFields';
import { parseQuery } from './request/parseQuery';
import { sendEntities, sendJson, setNextLink } from './response';
import { workSlices } from './workSlices';
import { allOf } from '../predicates';

/**
 * The catalog's routes that read entities of the request's tenant, with the stock catalog's
 * semantics.
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
      async ({ req, res, tenantId, catalog, assertStillAdmitted }) => {
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
          mayGoOn: assertStillAdmitted,
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
          after: () => '}',
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

/** The routes for one entity and its ancestry. */
function mountSingleEntities(router: Router, operations: Operations): void {
  router.get(
    '/entities/by-uid/:uid',
    operations.read(
      req => ({ queryType: 'by-uid', uid: req.params.uid }),
      async ({ req, res, tenantId, catalog }) => {
        const { uid } = req.params;
        parseQuery(req.query, {});
        const [json] = await catalog.readEntities(tenantId, {
          filter: { 'metadata.uid': uid },
          limit: 1,
        });
        if (json === undefined) {
          throw new NotFoundError(`No entity with uid ${uid}`);
        }
        sendJson(res, json);
        return { entities: [stringifyEntityRef(JSON.parse(json))] };
      },
    ),
  );

  router.get(
    '/entities/by-name/:kind/:namespace/:name',
    operations.read(
      req => ({ queryType: 'by-name', entityRef: refOf(req) }),
      async ({ req, res, tenantId, catalog }) => {
        const { kind, namespace, name } = req.params;
        parseQuery(req.query, {});
        const [json] = await catalog.readEntitiesByRefs(tenantId, [refOf(req)]);
        if (json === null) {
          throw new NotFoundError(
            `No entity named '${name}' found, with kind '${kind}' in namespace '${namespace}'`,
          );
        }
        sendJson(res, json);
      },
    ),
  );

  router.get(
    '/entities/by-name/:kind/:namespace/:name/ancestry',
    operations.read(
      req => ({ actionType: 'ancestry', entityRef: refOf(req) }),
      async ({ req, res, tenantId, catalog }) => {
        parseQuery(req.query, {});
        const entityRef = refOf(req);
        const ancestry = await catalog.getAncestry(tenantId, entityRef);
        if (!ancestry) {
          throw new NotFoundError(`No such entity ${entityRef}`);
        }
        res.json(ancestry);
        const { rootEntityRef, items } = ancestry;
        return {
          rootEntityRef,
          ancestry: items.map(({ entity, parentEntityRefs }) => ({
            entityRef: stringifyEntityRef(entity),
            parentEntityRefs,
          })),
        };
      },
    ),
  );
}

function refOf(req: Request): string {
  const { kind, namespace, name } = req.params;
  return stringifyEntityRef({ kind, namespace, name });
}

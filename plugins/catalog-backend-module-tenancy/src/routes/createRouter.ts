import { stringifyEntityRef } from '@backstage/catalog-model';
import { NotFoundError } from '@backstage/errors';
import type { Request, Router } from 'express';
import PromiseRouter from 'express-promise-router';
import { allOf } from '../predicates';
import { listEntities } from './listEntities';
import type { Operations } from './operations';
import { parseEntityRefs } from './request/parseEntityRefs';
import { parseFields } from './request/parseFields';
import { parseFilter } from './request/parseFilter';
import { parseQuery } from './request/parseQuery';
import { readJsonBody } from './request/readJsonBody';
import { sendEntities } from './response/sendEntities';
import { setNextLink } from './response/setNextLink';

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
        const { parts, nextPage } = await listEntities(req, catalog, tenantId);
        if (nextPage) {
          setNextLink(req, res, nextPage);
        }
        await sendEntities(res, parts, assertTenantActive);
      },
    ),
  );

  router.get(
    '/entities/by-uid/:uid',
    operations.read(
      req => ({ queryType: 'by-uid', uid: req.params.uid }),
      async ({ req, res, tenantId, catalog }) => {
        const { uid } = req.params;
        parseQuery(req.query, {});
        const [entity] = await catalog.queryEntities(tenantId, {
          filter: { 'metadata.uid': uid },
          limit: 1,
        });
        if (!entity) {
          throw new NotFoundError(`No entity with uid ${uid}`);
        }
        res.json(entity);
        return { entities: [stringifyEntityRef(entity)] };
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
        const [entity] = await catalog.getEntitiesByRefs(tenantId, [
          refOf(req),
        ]);
        if (!entity) {
          throw new NotFoundError(
            `No entity named '${name}' found, with kind '${kind}' in namespace '${namespace}'`,
          );
        }
        res.json(entity);
      },
    ),
  );

  router.post(
    '/entities/by-refs',
    operations.read(
      () => ({ queryType: 'by-refs' }),
      async ({ req, res, tenantId, catalog }) => {
        const { filter } = parseQuery(req.query, { filter: 'strings' });
        await readJsonBody(req, res);
        const { entityRefs, fields, query } = parseEntityRefs(req);
        const projection = parseFields(fields);
        const entities = await catalog.getEntitiesByRefs(tenantId, entityRefs, {
          filter: allOf(parseFilter(filter), query),
        });
        res.json({
          items: entities.map(
            entity => entity && (projection ? projection(entity) : entity),
          ),
        });
        return { entityRefs };
      },
    ),
  );

  return router;
}

function refOf(req: Request): string {
  const { kind, namespace, name } = req.params;
  return stringifyEntityRef({ kind, namespace, name });
}

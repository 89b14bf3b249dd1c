import { stringifyEntityRef } from '@backstage/catalog-model';
import { NotFoundError } from '@backstage/errors';
import type { Request, Router } from 'express';
import type { Operations } from './operations';
import { parseQuery } from './request/parseQuery';
import { sendJson } from './response';

/** The routes for one entity, and for what it comes from. */
export function mountSingleEntities(
  router: Router,
  operations: Operations,
): void {
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

import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import { catalogEntityReadPermission } from '@backstage/plugin-catalog-common/alpha';
import Router from 'express-promise-router';
import { createEntity } from '../entities';
import { NOTHING_PATH } from '../constants';

/**
 * A route of the catalog that does nothing but what each of them has to: it asks who
 * calls and what they may read, and writes that to the audit log. The answer is always
 * the same entity, so that nobody can answer a request for an entity faster.
 */
export const nothing = createBackendModule({
  pluginId: 'catalog',
  moduleId: 'benchmark-nothing',
  register(env) {
    env.registerInit({
      deps: {
        auditor: coreServices.auditor,
        httpAuth: coreServices.httpAuth,
        httpRouter: coreServices.httpRouter,
        permissions: coreServices.permissions,
      },
      async init({ auditor, httpAuth, httpRouter, permissions }) {
        const answer = JSON.stringify(createEntity(0).entity);
        const router = Router();
        router.get(NOTHING_PATH, async (request, response) => {
          const event = await auditor.createEvent({
            eventId: 'entity-fetch',
            request,
          });
          await permissions.authorizeConditional(
            [{ permission: catalogEntityReadPermission }],
            { credentials: await httpAuth.credentials(request) },
          );
          await event.success();
          response.setHeader('content-type', 'application/json; charset=utf-8');
          response.end(answer);
        });
        httpRouter.use(router);
      },
    });
  },
});

import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import { catalogEntityReadPermission } from '@backstage/plugin-catalog-common/alpha';
import Router from 'express-promise-router';
import { createEntity } from '../harness/entities';
import {
  APP_LOGIN,
  type DatabaseConnection,
  PASSWORD,
  POOL_SIZE,
  SCHEMA,
  serve,
  SERVICE_SUBJECT,
  SERVICE_TOKEN,
  startBackend,
  USER,
} from '../harness/servers';

/** What this server gets from the benchmark. */
export interface CatalogBackendSettings {
  connection: DatabaseConnection;
  /** Whether it is ours: the stock catalog with our module in front of it. */
  withTenants: boolean;
  /** Whether only members may ask for the catalog of a tenant. */
  membership: 'required' | 'open';
  /** For how long, in milliseconds, what a user may read holds for the next requests. */
  maxDecisionAgeMs?: number;
  /** Where the stock catalog gets a route that does nothing. */
  nothingPath: string;
}

// A Backstage backend with a catalog, as it runs in production: tokens are verified, and
// a policy is asked what users may read.

serve<CatalogBackendSettings>(settings =>
  startBackend({
    plugin: 'catalog',
    connection: settings.connection,
    poolSize: POOL_SIZE,
    service: { token: SERVICE_TOKEN, subject: SERVICE_SUBJECT },
    guest: USER,
    config: {
      permission: { enabled: true },
      catalog: {
        // The entities stand in the database, and nobody changes them.
        processingInterval: false,
        orphanStrategy: 'keep',
        orphanProviderStrategy: 'keep',
      },
      tenancy: {
        enabled: settings.withTenants,
        membership: settings.membership,
        permissions: { maxDecisionAgeMs: settings.maxDecisionAgeMs },
        schema: SCHEMA,
        database: {
          connection: { user: APP_LOGIN, password: PASSWORD },
          pool: { max: POOL_SIZE },
        },
      },
    },
    features: [
      import('@backstage/plugin-catalog-backend'),
      import('@backstage/plugin-permission-backend'),
      import('@backstage/plugin-permission-backend-module-allow-all-policy'),
      settings.withTenants
        ? import('backstage-plugin-catalog-backend-module-tenancy')
        : createNothing(settings.nothingPath),
    ],
  }),
);

/**
 * A route of the catalog that does nothing but what each of them has to: it asks who
 * calls and what they may read, and writes that to the audit log. The answer is always
 * the same entity, so that nobody can answer a request for an entity faster.
 */
function createNothing(path: string) {
  return createBackendModule({
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
          router.get(path, async (request, response) => {
            const event = await auditor.createEvent({
              eventId: 'entity-fetch',
              request,
            });
            await permissions.authorizeConditional(
              [{ permission: catalogEntityReadPermission }],
              { credentials: await httpAuth.credentials(request) },
            );
            await event.success();
            response.setHeader(
              'content-type',
              'application/json; charset=utf-8',
            );
            response.end(answer);
          });
          httpRouter.use(router);
        },
      });
    },
  });
}

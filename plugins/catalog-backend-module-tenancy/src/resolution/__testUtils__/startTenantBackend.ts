import {
  type BackendFeature,
  coreServices,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import { metricsServiceRef } from '@backstage/backend-plugin-api/alpha';
import { mockServices, startTestBackend } from '@backstage/backend-test-utils';
import type { JsonObject } from '@backstage/types';
import {
  assignTenant,
  DEFAULT_TENANT_ID,
  readTenancyConfig,
  retryAfter,
  type TenantDirectory,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import { type Request, type RequestHandler, Router } from 'express';
import type { OutgoingHttpHeaders } from 'node:http';
import {
  createTenantMiddleware,
  type TenantMiddlewareOptions,
} from '../createTenantMiddleware';
import { type Answer, send } from './send';
import { SECRET } from './tokens';

export interface TenantBackend {
  port: number;
  /** A request with these headers. */
  get(headers?: OutgoingHttpHeaders): Promise<Answer>;
  head(headers?: OutgoingHttpHeaders): Promise<Answer>;
}

export interface TestConfig {
  /** Laid over a `tenancy` that is turned on and has a secret. */
  tenancy?: JsonObject;
  app?: JsonObject;
  backend?: JsonObject;
}

/**
 * Starts a backend whose catalog answers with the tenant of the request, and asks
 * for no credentials unless told to.
 */
export async function startTenantBackend(
  options: TestConfig & {
    directory: TenantDirectory;
    authenticated?: boolean;
    features?: BackendFeature[];
  },
): Promise<TenantBackend> {
  const { directory, authenticated = false, features = [] } = options;
  const { server } = await startTestBackend({
    features: [
      mockServices.rootConfig.factory({ data: configData(options) }),
      createCatalog({ directory, authenticated }),
      ...features,
    ],
  });
  return backendAt(server.port());
}

export function configData(options: TestConfig): JsonObject {
  return {
    app: { baseUrl: 'https://portal.example', ...options.app },
    backend: {
      baseUrl: 'https://backstage.portal.example:7007',
      ...options.backend,
    },
    tenancy: { enabled: 'true', jwtSecret: SECRET, ...options.tenancy },
  };
}

export function backendAt(port: number): TenantBackend {
  return {
    port,
    get: headers => send(port, headers),
    head: headers => send(port, headers, 'HEAD'),
  };
}

/** The middleware, and a catalog that answers with the tenant of the request. */
export function createTenantRouter(
  options: Omit<TenantMiddlewareOptions, 'tenancy'>,
  callerOf: (req: Request) => Promise<unknown> = async () => undefined,
): Router {
  const answer: RequestHandler = (req, res, next) => {
    callerOf(req).then(caller => res.json({ ...tenantOf(req), caller }), next);
  };
  const tenancy = readTenancyConfig(options.config);
  return Router()
    .use(
      tenancy.enabled
        ? createTenantMiddleware({ ...options, tenancy })
        : (req, _res, next) => {
            const [tenantId, tenantSlug] = [DEFAULT_TENANT_ID, 'default'];
            assignTenant(req, { tenantId, tenantSlug });
            next();
          },
    )
    .get('/entities', answer)
    .use(retryAfter());
}

function createCatalog(options: {
  directory: TenantDirectory;
  authenticated: boolean;
}) {
  return createBackendPlugin({
    pluginId: 'catalog',
    register(env) {
      env.registerInit({
        deps: {
          config: coreServices.rootConfig,
          httpAuth: coreServices.httpAuth,
          httpRouter: coreServices.httpRouter,
          logger: coreServices.logger,
          metrics: metricsServiceRef,
        },
        async init({ config, httpAuth, httpRouter, logger, metrics }) {
          const { directory, authenticated } = options;
          if (!authenticated) {
            httpRouter.addAuthPolicy({ path: '/', allow: 'unauthenticated' });
          }
          httpRouter.use(
            createTenantRouter(
              { config, directory, logger, metrics },
              authenticated
                ? async req => (await httpAuth.credentials(req)).principal
                : undefined,
            ),
          );
        },
      });
    },
  });
}

import {
  type BackendFeature,
  coreServices,
  createBackendPlugin,
  createServiceFactory,
  type HttpRouterService,
} from '@backstage/backend-plugin-api';
import { mockServices, startTestBackend } from '@backstage/backend-test-utils';
import type { JsonObject } from '@backstage/types';
import {
  tenantAuditTrailServiceRef,
  tenantChangesServiceRef,
  type TenantAuditTrail,
  type TenantDirectory,
  tenantGateServiceRef,
  type TenantMembers,
  TenantLimits,
  tenantLimitsServiceRef,
  tenantMembersServiceRef,
  tenantOf,
  tenantOwnershipServiceRef,
  tenantUsageServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { tenantDirectoryServiceMock } from 'backstage-plugin-catalog-tenancy-node/testUtils';
import type { Request } from 'express';
import type { OutgoingHttpHeaders } from 'node:http';
import { type Answer, sendTo } from '../../resolution/__testUtils__/send';
import { configData } from '../../resolution/__testUtils__/startTenantBackend';
import {
  gateSettingsServiceFactory,
  tenantGateServiceFactory,
} from '../services';

/** The paths of a {@link classifiedPlugin}. */
export const PATHS = {
  open: '/open',
  cookie: '/cookie',
  credentials: '/credentials',
} as const;

/**
 * A plugin that answers `reached`, and where it is tenant-aware with the tenant of the
 * request. Requests to `/open` need no credentials, and to `/cookie` a cookie is enough.
 */
export function classifiedPlugin(
  pluginId: string,
  options: { tenantAware?: boolean } = {},
): BackendFeature {
  const addRoutes = (
    httpRouter: HttpRouterService,
    answer: (req: Request) => string,
  ) => {
    httpRouter.addAuthPolicy({ path: PATHS.open, allow: 'unauthenticated' });
    httpRouter.addAuthPolicy({ path: PATHS.cookie, allow: 'user-cookie' });
    httpRouter.use((req, res) => {
      res.json(answer(req));
    });
  };
  const { httpRouter: httpRouterRef } = coreServices;
  return createBackendPlugin({
    pluginId,
    register(env) {
      if (options.tenantAware) {
        env.registerInit({
          deps: { gate: tenantGateServiceRef, httpRouter: httpRouterRef },
          async init({ gate, httpRouter }) {
            gate.declareTenantAware();
            addRoutes(httpRouter, req => tenantOf(req).tenantSlug);
          },
        });
      } else {
        // It does not know the gate.
        env.registerInit({
          deps: { httpRouter: httpRouterRef },
          async init({ httpRouter }) {
            addRoutes(httpRouter, () => 'reached');
          },
        });
      }
    },
  });
}

/** Members as a test has them; without them, every caller is a member. */
export function membersFactory(members?: Pick<TenantMembers, 'roleOf'>) {
  return createServiceFactory({
    service: tenantMembersServiceRef,
    deps: {},
    factory: () => ({
      forget: () => {},
      roleOf: async () => 'member' as const,
      rolesOf: async () => new Map(),
      ...members,
    }),
  });
}

/** Starts a backend with a gate in front of these plugins. */
export async function startGatedBackend(options: {
  directory?: TenantDirectory;
  tenancy?: JsonObject;
  app?: JsonObject;
  backend?: JsonObject;
  /** Says who is a member; by default every caller is. */
  members?: Pick<TenantMembers, 'roleOf'>;
  /** What single tenants may have; nothing else than is configured by default. */
  limits?: TenantLimits;
  /** Keeps nothing by default. */
  trail?: Pick<TenantAuditTrail, 'begin'>;
  features: BackendFeature[];
}) {
  const {
    directory,
    members,
    limits = new TenantLimits(),
    trail,
    features,
    ...config
  } = options;
  const { server } = await startTestBackend({
    features: [
      gateSettingsServiceFactory,
      tenantGateServiceFactory,
      mockServices.rootConfig.factory({ data: configData(config) }),
      tenantDirectoryServiceMock.factory({ directory }),
      membersFactory(members),
      createServiceFactory({
        service: tenantAuditTrailServiceRef,
        deps: {},
        factory: () => ({
          begin: async () => ({
            end: async () => {},
            storeWith: () => ({
              build: async () => undefined,
              onCommitted: () => {},
              onTenant: () => {},
            }),
          }),
          list: async () => ({ items: [], next_cursor: null }),
          deleteOld: async () => 0,
          send: async () => {},
          ...trail,
        }),
      }),
      createServiceFactory({
        service: tenantUsageServiceRef,
        deps: {},
        factory: () => ({
          addWork: () => {},
          count: () => {},
          totals: () => [],
          list: async () => [],
          countEntities: async () => {},
        }),
      }),
      createServiceFactory({
        service: tenantChangesServiceRef,
        deps: {},
        factory: () => ({ onChange: () => {} }),
      }),
      createServiceFactory({
        service: tenantOwnershipServiceRef,
        deps: {},
        factory: () => ({
          refsOf: async (_tenant, { userEntityRef }) => [userEntityRef],
        }),
      }),
      createServiceFactory({
        service: tenantLimitsServiceRef,
        deps: {},
        factory: () => limits,
      }),
      ...features,
    ],
  });
  const port = server.port();
  const send = (
    path: string,
    headers: OutgoingHttpHeaders = {},
    method = 'GET',
  ): Promise<Answer> => sendTo(port, path, headers, method);
  return Object.assign(send, { port, server });
}

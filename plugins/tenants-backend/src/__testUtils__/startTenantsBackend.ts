import {
  type BackendFeature,
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  mockCredentials,
  mockServices,
  startTestBackend,
} from '@backstage/backend-test-utils';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import type { JsonObject } from '@backstage/types';
import { callersOf } from '@internal/catalog-testing/caller';
import { describedAnswers } from '@internal/catalog-testing/describedFetch';
import { TenantsClient } from 'backstage-plugin-tenants-common';
import {
  readTenancyConfig,
  type Tenancy,
  type TenancyPool,
  tenancyServiceRef,
  type TenantEngines,
  tenantEnginesServiceRef,
  TenantLimits,
  tenantOwnershipServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { z } from 'zod';
import tenantsPlugin from '..';
import { createOpenApiDocument } from '../openapi/createOpenApiDocument';

export const ADMIN = 'user:default/admin';
export const ALICE = 'user:default/alice';
export const CI = 'external:ci';

/**
 * Starts a backend with the registry of tenants on a pool, with the real routing,
 * authentication barrier and error middleware of Backstage. {@link ADMIN} and
 * {@link CI} are administrators, unless configured otherwise. A call fails where the answer is none
 * that the OpenAPI document describes.
 */
export async function startTenantsBackend(options: {
  pool: TenancyPool;
  config?: JsonObject;
  features?: BackendFeature[];
}) {
  const { pool, config, features = [] } = options;
  const { server } = await startTestBackend({
    features: [
      tenantsPlugin,
      createServiceFactory({
        service: tenancyServiceRef,
        deps: { config: coreServices.rootConfig },
        factory: ({ config: rootConfig }) =>
          ({
            pool,
            limits: new TenantLimits(),
            // What is off hears of no changes: all is asked of the database each time.
            config: { ...readTenancyConfig(rootConfig), enabled: false },
          } as Tenancy),
      }),
      createServiceFactory({
        service: tenantOwnershipServiceRef,
        deps: {},
        factory: () => ({
          refsOf: async ({ tenantSlug }, { userEntityRef }) => [
            userEntityRef,
            `group:default/team-of-${tenantSlug}`,
          ],
        }),
      }),
      mockServices.rootConfig.factory({
        data: config ?? { tenancy: { admins: [ADMIN, CI] } },
      }),
      ...features,
    ],
  });

  const as = callersOf(
    server,
    '/api/tenants',
    describedAnswers({
      base: '/api/tenants',
      // zod reads patterns without the flag `u`, and takes the id of the default tenant, which has no
      // version, for no UUID.
      document: JSON.parse(
        JSON.stringify(createOpenApiDocument()),
        (key, value) =>
          key === 'pattern' || value === 'uuid' ? undefined : value,
      ),
      parserOf: schema => z.fromJSONSchema(schema),
    }),
  );
  const user = (ref: string) => as(mockCredentials.user.header(ref));

  return {
    admin: user(ADMIN),
    alice: user(ALICE),
    user,
    service: (subject: string) =>
      as(
        mockCredentials.service.header({
          onBehalfOf: mockCredentials.service(subject),
          targetPluginId: 'tenants',
        }),
      ),
    anonymous: as(mockCredentials.none.header()),
    as,
    client: new TenantsClient({
      discoveryApi: {
        getBaseUrl: async pluginId =>
          `http://localhost:${server.port()}/api/${pluginId}`,
      },
    }),
    port: () => server.port(),
    stop: () => server.stop(),
  };
}

/** Engines that run, in place of those of a backend. */
export const engines = (more: Partial<TenantEngines> = {}) =>
  createServiceFactory({
    service: tenantEnginesServiceRef,
    deps: {},
    factory: (): TenantEngines => ({
      isAvailable: true,
      handler: (_req, _res, next) => next(),
      applyMutation: async () => {},
      served: async () => {},
      validateConfig: async () => {},
      isConfiguredByOperator: () => false,
      statusOf: () => ({ state: 'running' }),
      report: async () => ({ state: 'running', faults: 0 }),
      reports: async () => new Map(),
      countSourceErrors: async () => new Map(),
      ...more,
    }),
  });

/** An auditor that tells what begins and how it ends, without the request. */
export const tellingAuditor = (tell: (event: object | undefined) => void) =>
  mockServices.auditor.mock({
    createEvent: async ({ request: _, ...event }) => {
      tell(event);
      return {
        success: async details => tell(details),
        fail: async details => tell(details),
      };
    },
  }).factory;

/** Answers questions to a policy that allows everything. */
export const allowAll = async (
  requests: readonly unknown[],
): Promise<{ result: AuthorizeResult.ALLOW }[]> =>
  requests.map(() => ({ result: AuthorizeResult.ALLOW }));

export type TenantsBackend = Awaited<ReturnType<typeof startTenantsBackend>>;

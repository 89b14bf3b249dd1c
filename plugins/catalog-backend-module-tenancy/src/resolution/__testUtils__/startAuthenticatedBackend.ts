import { authServiceFactory } from '@backstage/backend-defaults/auth';
import { httpAuthServiceFactory } from '@backstage/backend-defaults/httpAuth';
import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { mockServices } from '@backstage/backend-test-utils';
import type { JsonObject } from '@backstage/types';
import {
  type TenantDirectory,
  tenantDirectoryServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import type { Knex } from 'knex';
import { tenantTokenHandler } from '../tenantTokenHandler';
import { IdentityProvider } from './identityProvider';
import { startTenantBackend, type TenantBackend } from './startTenantBackend';

/**
 * Starts a backend whose catalog answers with the tenant and the caller of the
 * request, with the auth of Backstage in place of the one for tests.
 */
export function startAuthenticatedBackend(options: {
  directory: TenantDirectory;
  logger: ReturnType<typeof mockServices.rootLogger.mock>;
  /** Where each plugin's auth keeps its keys. */
  keys: Record<string, Knex>;
  externalAccess: JsonObject[];
  tenancy: JsonObject;
}): Promise<TenantBackend> {
  const { directory, logger, keys, externalAccess, tenancy } = options;
  return startTenantBackend({
    directory,
    tenancy,
    authenticated: true,
    backend: { auth: { externalAccess } },
    features: [
      authServiceFactory,
      httpAuthServiceFactory,
      createServiceFactory({
        service: coreServices.database,
        deps: { plugin: coreServices.pluginMetadata },
        factory: ({ plugin }) =>
          mockServices.database({ knex: keys[plugin.getId()] }),
      }),
      createServiceFactory({
        service: coreServices.rootLogger,
        deps: {},
        factory: () => Object.assign(logger, { child: () => logger }),
      }),
      createServiceFactory({
        service: tenantDirectoryServiceRef,
        deps: {},
        factory: () => directory,
      }),
      new IdentityProvider({}).plugin,
      tenantTokenHandler,
    ],
  });
}

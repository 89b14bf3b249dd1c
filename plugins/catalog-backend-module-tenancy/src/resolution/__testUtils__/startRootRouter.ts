import { rootHttpRouterServiceFactory } from '@backstage/backend-defaults/rootHttpRouter';
import {
  mockServices,
  ServiceFactoryTester,
} from '@backstage/backend-test-utils';
import type { TenantDirectory } from 'backstage-plugin-catalog-tenancy-node';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  backendAt,
  configData,
  createTenantRouter,
  type TenantBackend,
  type TestConfig,
} from './startTenantBackend';

/**
 * Starts what `startTestBackend` has a simpler version of: the root router of a
 * backend, set up by `backend.trustProxy` and the like as in production.
 */
export async function startRootRouter(
  options: TestConfig & { directory: TenantDirectory },
): Promise<TenantBackend & { stop(): Promise<void> }> {
  const data = configData({
    ...options,
    backend: { listen: { host: '127.0.0.1', port: 0 }, ...options.backend },
  });
  const config = mockServices.rootConfig({ data });
  const servers: Server[] = [];
  const root = await ServiceFactoryTester.from(
    rootHttpRouterServiceFactory({
      configure({ server, applyDefaults }) {
        servers.push(server);
        applyDefaults();
      },
    }),
    { dependencies: [mockServices.rootConfig.factory({ data })] },
  ).getSubject();
  root.use(
    '/api/catalog',
    createTenantRouter({
      config,
      directory: options.directory,
      logger: mockServices.logger.mock(),
    }),
  );
  const [server] = servers;
  return {
    ...backendAt((server.address() as AddressInfo).port),
    stop: () =>
      new Promise((resolve, reject) => {
        server.close(error => (error ? reject(error) : resolve()));
      }),
  };
}

import { HostDiscovery } from '@backstage/backend-defaults/discovery';
import {
  DefaultRootHttpRouter,
  rootHttpRouterServiceFactory,
} from '@backstage/backend-defaults/rootHttpRouter';
import {
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import { mockServices } from '@backstage/backend-test-utils';
import type { Server } from 'node:http';

/** Whether this Backstage routes WebSockets, which it does since 1.57. */
export const ROUTES_WEB_SOCKETS =
  'addWebSocketHandler' in DefaultRootHttpRouter.prototype;

/**
 * The server of Backstage in place of that of `startTestBackend`, which routes no WebSockets, for
 * `backend.listen: ':0'`. It has as little middleware.
 */
export function createWebServer() {
  let started: Server | undefined;
  const port = () => {
    const address = started?.address();
    if (!address || typeof address === 'string') {
      throw new Error('The server of the test listens to no port');
    }
    return address.port;
  };
  return {
    features: [
      rootHttpRouterServiceFactory({
        configure({ app, healthRouter, middleware, routes, server }) {
          started = server;
          app.use(healthRouter);
          app.use(routes);
          app.use(middleware.notFound());
          app.use(middleware.error());
        },
      }),
      createServiceFactory({
        service: coreServices.discovery,
        // It has started by then.
        deps: { rootHttpRouter: coreServices.rootHttpRouter },
        factory: () =>
          HostDiscovery.fromConfig(
            mockServices.rootConfig({
              data: {
                backend: {
                  baseUrl: `http://localhost:${port()}`,
                  listen: { port: port() },
                },
              },
            }),
          ),
      }),
    ],
    get server() {
      return Object.assign(started!, { port });
    },
  };
}

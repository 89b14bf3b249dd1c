import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  coreServices,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import {
  catalogStoreServiceRef,
  type CatalogMutation,
  retryAfter,
  tenantDirectoryServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { json } from 'express';
import Router from 'express-promise-router';

/** What a backend says of its memory, in bytes. */
export interface MemoryAnswer {
  rss: number;
  /** After a collection of what nobody uses. */
  heap: number;
}

/** What is sent to change entities of a tenant. */
export interface MutationRequest {
  tenant: string;
  mutation: CatalogMutation;
}

/**
 * What the benchmark needs of a backend beside what it has: a way to change entities,
 * as a provider of entities would do it within the backend, and a look at its memory.
 */
export const control = createBackendPlugin({
  pluginId: 'benchmark',
  register(env) {
    env.registerInit({
      deps: {
        catalog: catalogStoreServiceRef,
        directory: tenantDirectoryServiceRef,
        httpRouter: coreServices.httpRouter,
      },
      async init({ catalog, directory, httpRouter }) {
        const router = Router();
        router.use(json());
        router.post('/mutations', async (request, response) => {
          const { tenant, mutation }: MutationRequest = request.body;
          const found = await directory.findActive(tenant);
          if (!found) {
            response.status(404).end();
            return;
          }
          response.json(await catalog.applyMutation(found.tenantId, mutation));
        });
        router.get('/memory', (_request, response) => {
          collectGarbage();
          const { rss, heapUsed: heap } = process.memoryUsage();
          response.json({ rss, heap } satisfies MemoryAnswer);
        });
        router.use(retryAfter());
        httpRouter.use(router);
      },
    });
  },
});

function collectGarbage(): void {
  // Node.js has it only where it is asked for.
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

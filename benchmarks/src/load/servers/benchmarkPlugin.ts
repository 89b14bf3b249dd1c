import {
  coreServices,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import {
  catalogStoreServiceRef,
  tenantDirectoryServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import express from 'express';
import PromiseRouter from 'express-promise-router';
import { measureMemory } from './measureMemory';

/**
 * What an entity provider of a plugin would do, by request: mutations have no route of
 * their own. And what the process takes.
 */
export const benchmarkPlugin = createBackendPlugin({
  pluginId: 'benchmark',
  register(env) {
    env.registerInit({
      deps: {
        directory: tenantDirectoryServiceRef,
        httpRouter: coreServices.httpRouter,
        store: catalogStoreServiceRef,
      },
      async init({ directory, httpRouter, store }) {
        const router = PromiseRouter();
        router.use(express.json({ limit: '50mb' }));
        router.post('/mutations/:slug', async (req, res) => {
          const tenant = await directory.findActive(req.params.slug);
          if (!tenant) {
            res.status(404).json({ error: 'No such tenant' });
            return;
          }
          res.json(await store.applyMutation(tenant.tenantId, req.body));
        });
        router.get('/memory', async (_req, res) => {
          res.json(await measureMemory());
        });
        httpRouter.use(router);
      },
    });
  },
});

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
import {
  APP_LOGIN,
  type DatabaseConnection,
  PASSWORD,
  SCHEMA,
  serve,
  SERVICE_SUBJECT,
  SERVICE_TOKEN,
  startBackend,
  USER,
} from '../harness/servers';

/** What this server gets from the benchmark. */
export interface LoadBackendSettings {
  connection: DatabaseConnection;
  /** The host `<slug>.<baseDomain>` names a tenant. */
  baseDomain: string;
  /** Connections to the tables of tenants; as many as by default otherwise. */
  pool?: number;
  /**
   * Operations of one tenant that may be under way, whatever others do; as many as by default
   * otherwise.
   */
  concurrency?: number;
}

// A Backstage backend with the catalog of tenants and their registry, as it runs in
// production: tokens are verified, and a policy is asked what users may read.

serve<LoadBackendSettings>(({ connection, baseDomain, pool, concurrency }) =>
  startBackend({
    plugin: 'catalog',
    connection,
    service: { token: SERVICE_TOKEN, subject: SERVICE_SUBJECT },
    guest: USER,
    config: {
      permission: { enabled: true },
      // Nobody asks the engine for anything here.
      catalog: { processingInterval: false },
      // Of all else, what it is by default.
      tenancy: {
        enabled: true,
        schema: SCHEMA,
        // Who enters every tenant.
        admins: [USER, SERVICE_SUBJECT],
        baseDomains: [baseDomain],
        database: {
          connection: { user: APP_LOGIN, password: PASSWORD },
          ...(pool && { pool: { max: pool } }),
        },
        ...(concurrency && {
          limits: { concurrency, concurrencyBesideOthers: concurrency },
        }),
      },
    },
    features: [
      import('@backstage/plugin-catalog-backend'),
      import('@backstage/plugin-permission-backend'),
      import('@backstage/plugin-permission-backend-module-allow-all-policy'),
      import('backstage-plugin-catalog-backend-module-tenancy'),
      import('backstage-plugin-tenants-backend'),
      createMutationsPlugin(),
    ],
  }),
);

/**
 * What an entity provider of a plugin would do, by request: mutations have no route of
 * their own.
 */
function createMutationsPlugin() {
  return createBackendPlugin({
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
          httpRouter.use(router);
        },
      });
    },
  });
}

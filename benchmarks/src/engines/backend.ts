import {
  coreServices,
  createBackendModule,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import {
  catalogProcessingExtensionPoint,
  type EntityProviderConnection,
  type EntityProviderMutation,
} from '@backstage/plugin-catalog-node';
import { tenantEngines } from 'backstage-plugin-catalog-backend-module-tenant-engines';
import express from 'express';
import PromiseRouter from 'express-promise-router';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createEntities } from '../harness/entities';
import {
  APP_LOGIN,
  type DatabaseConnection,
  PASSWORD,
  SCHEMA,
  serve,
  SERVICE_SUBJECT,
  SERVICE_TOKEN,
  startBackend,
} from '../harness/servers';

/** What this server gets from the benchmark. */
export interface EnginesBackendSettings {
  connection: DatabaseConnection;
  /** Whether tenants have engines; otherwise it is the stock catalog. */
  withEngines: boolean;
}

/** What the provider of an engine is to provide. */
export interface Provision {
  /** The number of the first entity. */
  first: number;
  length: number;
  /** Differs from one mutation to the next, so that every entity has changed. */
  revision: number;
}

// Both sides have the same provider: in the stock catalog, and in each engine.

serve<EnginesBackendSettings>(({ connection, withEngines }) =>
  startBackend({
    plugin: 'catalog',
    connection,
    service: { token: SERVICE_TOKEN, subject: SERVICE_SUBJECT },
    config: {
      permission: { enabled: false },
      // As the engines of tenants have it by default: nothing is due again meanwhile.
      catalog: { processingInterval: { minutes: 30 } },
      tenancy: {
        enabled: withEngines,
        schema: SCHEMA,
        admins: [SERVICE_SUBJECT],
        database: { connection: { user: APP_LOGIN, password: PASSWORD } },
      },
    },
    features: [
      import('@backstage/plugin-catalog-backend'),
      createMemoryPlugin(),
      ...(withEngines
        ? [
            import('backstage-plugin-catalog-backend-module-tenancy'),
            import('backstage-plugin-tenants-backend'),
            tenantEngines({ features: [createProviderModule()] }),
          ]
        : [createProviderModule()]),
    ],
  }),
);

/** A provider that gives one entity when it is connected, and then what it is asked for. */
function createProviderModule() {
  return createBackendModule({
    pluginId: 'catalog',
    moduleId: 'benchmark',
    register(env) {
      env.registerInit({
        deps: {
          catalog: catalogProcessingExtensionPoint,
          httpRouter: coreServices.httpRouter,
        },
        async init({ catalog, httpRouter }) {
          let connection: EntityProviderConnection | undefined;
          catalog.addEntityProvider({
            getProviderName: () => 'benchmark',
            async connect(given) {
              connection = given;
              await given.applyMutation(
                fullMutation({ first: 0, length: 1, revision: 0 }),
              );
            },
          });
          const router = PromiseRouter();
          router.post('/benchmark', express.json(), async (req, res) => {
            if (!connection) {
              res.status(503).json({ error: 'Not connected' });
              return;
            }
            await connection.applyMutation(fullMutation(req.body));
            res.status(204).end();
          });
          httpRouter.use(router);
        },
      });
    },
  });
}

function fullMutation({
  first,
  length,
  revision,
}: Provision): EntityProviderMutation {
  return {
    type: 'full',
    entities: createEntities(first, length).map(({ entity, locationKey }) => {
      // What the engine itself adds.
      const { relations: _, metadata, spec, ...rest } = entity;
      const { uid: _uid, etag: _etag, labels, ...given } = metadata;
      return {
        locationKey,
        entity: {
          ...rest,
          metadata: {
            ...given,
            labels: { ...labels, revision: String(revision) },
          },
          // Which groups must have.
          spec: entity.kind === 'Group' ? { ...spec, children: [] } : spec,
        },
      };
    }),
  };
}

/** Tells what memory the process has after a garbage collection. */
function createMemoryPlugin() {
  return createBackendPlugin({
    pluginId: 'benchmark',
    register(env) {
      env.registerInit({
        deps: { httpRouter: coreServices.httpRouter },
        async init({ httpRouter }) {
          setFlagsFromString('--expose-gc');
          const collectGarbage: () => void = runInNewContext('gc');
          const router = PromiseRouter();
          router.get('/memory', (_req, res) => {
            collectGarbage();
            res.json(process.memoryUsage());
          });
          httpRouter.use(router);
        },
      });
    },
  });
}

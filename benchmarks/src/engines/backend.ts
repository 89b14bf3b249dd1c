import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import {
  catalogProcessingExtensionPoint,
  type EntityProviderConnection,
  type EntityProviderMutation,
} from '@backstage/plugin-catalog-node';
import { tenantEngines } from 'backstage-plugin-catalog-backend-module-tenant-engines';
import express from 'express';
import PromiseRouter from 'express-promise-router';
import {
  APP_LOGIN,
  type DatabaseConnection,
  PASSWORD,
  SCHEMA,
  SERVICE_SUBJECT,
  startBackend,
} from '../harness/backend';
import { createEntities } from '../harness/entities';
import { serve } from '../harness/servers';
import { CONFIG_OF_PLUGINS, pluginsOfTenants } from './pluginsOfTenants';

/** What this server gets from the benchmark. */
export interface EnginesBackendSettings {
  connection: DatabaseConnection;
  /** Whether tenants have engines; otherwise it is the stock catalog. */
  withEngines: boolean;
  /** Whether each tenant may have an instance of each plugin that was tried. */
  withPlugins?: boolean;
}

/** What the provider of an engine is to provide. */
export interface Provision {
  /** The number of the first entity. */
  first: number;
  length: number;
  /** Differs from one mutation to the next, so that every entity has changed. */
  revision: number;
  /** The revision of all but the first entity, where they keep another one. */
  others?: number;
}

// Both sides have the same provider: in the stock catalog, and in each engine.

serve<EnginesBackendSettings>(({ connection, withEngines, withPlugins }) => {
  const onePerTenant = withPlugins ? pluginsOfTenants() : {};
  return startBackend({
    connection,
    config: {
      permission: { enabled: false },
      // The default of tenants' engines: nothing is due again meanwhile.
      catalog: { processingInterval: { minutes: 30 } },
      tenancy: {
        enabled: withEngines,
        schema: SCHEMA,
        admins: [SERVICE_SUBJECT],
        database: { connection: { user: APP_LOGIN, password: PASSWORD } },
      },
      ...(withPlugins && CONFIG_OF_PLUGINS),
    },
    features: [
      import('@backstage/plugin-catalog-backend'),
      createProviderModule(),
      ...(withEngines
        ? [
            import('backstage-plugin-catalog-backend-module-tenancy'),
            import('backstage-plugin-tenants-backend'),
            tenantEngines({ features: [createProviderModule()], onePerTenant }),
          ]
        : []),
      ...Object.values(onePerTenant).flat(),
    ],
  });
});

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
              const one = { first: 0, length: 1, revision: 0 };
              await given.applyMutation(fullMutation(one));
            },
          });
          const router = PromiseRouter();
          router.post('/benchmark', express.json(), async (req, res) => {
            await connection?.applyMutation(fullMutation(req.body));
            res.status(connection ? 204 : 503).end();
          });
          router.get('/benchmark/cpu', (_req, res) => {
            res.json(process.cpuUsage());
          });
          router.get('/benchmark/memory', (_req, res) => {
            // What is garbage would be somebody else's.
            setFlagsFromString('--expose-gc');
            runInNewContext('gc')();
            res.json(process.memoryUsage());
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
  others = revision,
}: Provision): EntityProviderMutation {
  return {
    type: 'full',
    entities: createEntities(first, length).map((generated, index) => {
      const { entity, locationKey } = generated;
      // The engine itself adds these.
      const { relations: _, metadata, spec, ...rest } = entity;
      const { uid: _uid, etag: _etag, ...given } = metadata;
      const labels = {
        ...given.labels,
        revision: String(index === 0 ? revision : others),
      };
      return {
        locationKey,
        entity: {
          ...rest,
          metadata: { ...given, labels },
          // Groups must have children.
          spec: entity.kind === 'Group' ? { ...spec, children: [] } : spec,
        },
      };
    }),
  };
}

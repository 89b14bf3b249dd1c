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
    },
    features: [
      import('@backstage/plugin-catalog-backend'),
      createProviderModule(),
      ...(withEngines
        ? [
            import('backstage-plugin-catalog-backend-module-tenancy'),
            import('backstage-plugin-tenants-backend'),
            tenantEngines({ features: [createProviderModule()] }),
          ]
        : []),
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
              const one = { first: 0, length: 1, revision: 0 };
              await given.applyMutation(fullMutation(one));
            },
          });
          const router = PromiseRouter();
          router.post('/benchmark', express.json(), async (req, res) => {
            await connection?.applyMutation(fullMutation(req.body));
            res.status(connection ? 204 : 503).end();
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
    entities: createEntities(first, length).map(generated => {
      const { entity, locationKey } = generated;
      // The engine itself adds these.
      const { relations: _, metadata, spec, ...rest } = entity;
      const { uid: _uid, etag: _etag, ...given } = metadata;
      const labels = { ...given.labels, revision: String(revision) };
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

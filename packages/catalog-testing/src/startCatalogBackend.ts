import { createBackend } from '@backstage/backend-defaults';
import {
  type BackendFeature,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import {
  mockCredentials,
  mockServices,
  startTestBackend,
} from '@backstage/backend-test-utils';
import { CatalogClient } from '@backstage/catalog-client';
import type { Entity } from '@backstage/catalog-model';
import type { JsonObject } from '@backstage/types';
import catalogPlugin from '@backstage/plugin-catalog-backend';
import {
  type CatalogStore,
  catalogStoreServiceRef,
  type TenantDatabase,
  tenantDatabaseServiceRef,
  type TenantStore,
  tenantStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { type EntityWrite, writeEntities } from '@internal/postgres/testUtils';
import { merge } from 'lodash';
import type { ClientConfig } from 'pg';
import request, { type Test } from 'supertest';
import tenancyModule from 'backstage-plugin-catalog-backend-module-tenancy';
import { closingDatabaseFactory } from './closingDatabase';
import { APPLICATION } from './tenancyDatabase';
import { createWebServer } from './webServer';

export interface CatalogBackendOptions {
  connection: ClientConfig;
  /** The flag; without one the module is not there at all. */
  enabled?: boolean;
  config?: JsonObject;
  features?: BackendFeature[];
  /** In place of those of a mocked user. */
  authorization?: string;
  /**
   * With Backstage's own services and server, since that of `startTestBackend` routes no
   * WebSockets. The test stops it.
   */
  webSockets?: boolean;
}

/** Calls `/api/catalog` for one tenant. */
export interface Caller {
  send(method: string, path: string, body?: unknown): Test;
  get(path: string): Test;
  post(path: string, body: unknown): Test;
}

/**
 * Starts a backend with the stock catalog and, before it, the catalogs of tenants,
 * on a real database, with the real routing and error middleware of Backstage.
 */
export async function startCatalogBackend(options: CatalogBackendOptions) {
  const { enabled, features = [] } = options;
  const services: Partial<Services> = {};
  const all = [
    catalogPlugin,
    closingDatabaseFactory,
    mockServices.rootConfig.factory({
      data: merge(baseConfig(options), options.config),
    }),
    ...(enabled === undefined ? [] : [tenancyModule, pickUp(services)]),
    ...features,
  ];
  const backend = options.webSockets
    ? await startWithWebSockets(all)
    : await startTestBackend({ features: all });

  const { server } = backend;

  const as = (tenantSlug: string | undefined): Caller => {
    const send = (method: string, path: string, body?: unknown) => {
      // Not through supertest's own methods, which know only some of them.
      const test = request(server).get(`/api/catalog${path}`);
      test.method = method;
      test.set(
        'Authorization',
        options.authorization ?? mockCredentials.user.header(),
      );
      if (tenantSlug !== undefined) {
        test.set('X-Tenant-Slug', tenantSlug);
      }
      return body === undefined ? test : test.send(body as object);
    };
    return {
      send,
      get: path => send('GET', path),
      post: (path, body) => send('POST', path, body),
    };
  };

  const client = (tenantSlug: string) =>
    new CatalogClient({
      discoveryApi: {
        getBaseUrl: async () => `http://localhost:${server.port()}/api/catalog`,
      },
      fetchApi: {
        fetch(input, init) {
          const headers = new Headers(init?.headers);
          headers.set('X-Tenant-Slug', tenantSlug);
          return fetch(input, { ...init, headers });
        },
      },
    });

  /** Writes final entities for a tenant, in place of its engine. */
  const write = (tenantId: string, entities: EntityWrite<Entity>) =>
    writeEntities(present(services.database), tenantId, entities);

  return {
    server,
    as,
    client,
    write,
    /** Creates a tenant unless it is there, and replaces its entities. */
    async createTenant(slug: string, entities: Entity[] = []): Promise<string> {
      const tenants = present(services.tenants);
      const { tenant_id } =
        (await tenants.get(slug)) ??
        (await tenants.create({ tenant_slug: slug, tenant_name: slug }));
      await write(tenant_id, { type: 'full', entities });
      return tenant_id;
    },
    get store(): CatalogStore {
      return present(services.store);
    },
    get tenants(): TenantStore {
      return present(services.tenants);
    },
    stop: () => backend.stop(),
  };
}

export type CatalogBackend = Awaited<ReturnType<typeof startCatalogBackend>>;

async function startWithWebSockets(features: BackendFeature[]) {
  const web = createWebServer();
  const backend = createBackend();
  [mockServices.rootLogger.factory(), ...web.features, ...features].forEach(
    feature => backend.add(feature),
  );
  await backend.start();
  return { server: web.server, stop: () => backend.stop() };
}

function baseConfig(options: CatalogBackendOptions): JsonObject {
  const { host, port, user, password, database } = options.connection;
  return {
    app: { baseUrl: 'http://localhost:3000' },
    backend: {
      // The test backend listens on another port, which discovery knows. Nothing can listen
      // on port 0: no test reaches a portal that runs on this machine.
      baseUrl: 'http://localhost:0',
      listen: ':0',
      database: {
        client: 'pg',
        connection: { host, port, user, password: String(password) },
        plugin: { catalog: { connection: { database } } },
      },
    },
    catalog: { processingInterval: false },
    tenancy: {
      enabled: options.enabled ?? false,
      // Who may enter a tenant is the subject of the tests of the gate.
      membership: 'open',
      // Tests change the policy from one request to the next.
      permissions: { maxDecisionAgeMs: 0 },
      database: { connection: APPLICATION, pool: { max: 5 } },
    },
  } as JsonObject;
}

interface Services {
  database: TenantDatabase;
  store: CatalogStore;
  tenants: TenantStore;
}

/** What the other plugins of a backend get. */
function pickUp(services: Partial<Services>) {
  return createBackendPlugin({
    pluginId: 'other',
    register(env) {
      env.registerInit({
        deps: {
          database: tenantDatabaseServiceRef,
          store: catalogStoreServiceRef,
          tenants: tenantStoreServiceRef,
        },
        async init(deps) {
          Object.assign(services, deps);
        },
      });
    },
  });
}

function present<T>(service: T | undefined): T {
  if (!service) {
    throw new Error('The backend was started without the module');
  }
  return service;
}

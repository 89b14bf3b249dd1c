import type { BackendFeature } from '@backstage/backend-plugin-api';
import type { Entity } from '@backstage/catalog-model';
import allowAll from '@backstage/plugin-permission-backend-module-allow-all-policy';
import type { JsonObject } from '@backstage/types';
import { insertEntities } from '@internal/catalog-testing/insertEntities';
import { signedInGuest } from '@internal/catalog-testing/signedInGuest';
import { startCatalogBackend } from '@internal/catalog-testing/startCatalogBackend';
import { DEFAULT_TENANT_ID } from 'backstage-plugin-catalog-tenancy-node';
import type { ClientConfig } from 'pg';
import request from 'supertest';
import { mergeConfigs } from '../../config/pluginConfig';
import {
  catalogModuleTenantEngines,
  enginesServiceFactory,
  tenantEnginesServiceFactory,
} from '../../module';
import { type InstanceFeatures, onePerTenant } from '../onePerTenant';
import { TenantEvents } from '../TenantEvents';
import type { InstancesTiming } from '../PluginInstances';

export const GUEST = 'user:default/guest';

export const TENANTS = ['default', 'acme', 'globex'] as const;

/** Stands in everything that the tenant has, and in nothing that another one has. */
export const markOf = (tenant: string) => `only-${tenant}-has-this`;

/**
 * A portal with three tenants that have entities of the same refs, each with the mark of its
 * tenant.
 */
export async function startThreeTenants(options: {
  connection: ClientConfig;
  config: JsonObject;
  /** Of the backend itself. */
  features: BackendFeature[];
  plugins: Record<string, InstanceFeatures>;
  /** Of the engines. */
  modules?: BackendFeature[];
  entitiesOf: (tenant: string) => Entity[];
  /** Whether the configuration has sources of the tenants but the default one. */
  fedByEngines?: boolean;
  timing?: Partial<InstancesTiming>;
  engineTiming?: Parameters<typeof catalogModuleTenantEngines>[1];
}) {
  const { connection, entitiesOf } = options;
  const events = new TenantEvents();
  await insertEntities(connection, DEFAULT_TENANT_ID, entitiesOf('default'));
  const guest = signedInGuest(GUEST);
  const backend = await startCatalogBackend({
    connection,
    enabled: true,
    webSockets: true,
    config: mergeConfigs(
      {
        ...guest.config,
        backend: { database: { prefix: `${connection.database}_` } },
        events: { useEventBus: 'never' },
        tenancy: { admins: [GUEST], membership: 'required' },
      },
      options.config,
    ),
    features: [
      ...guest.features,
      allowAll,
      ...options.features,
      enginesServiceFactory,
      tenantEnginesServiceFactory,
      catalogModuleTenantEngines(
        options.modules ?? [],
        options.engineTiming,
        [],
        events,
      ),
      ...onePerTenant(options.plugins, options.timing, events),
    ],
  });
  const ids = new Map<string, string>([['default', DEFAULT_TENANT_ID]]);
  for (const slug of TENANTS.slice(1)) {
    const { tenant_id } = await backend.tenants.create({
      tenant_slug: slug,
      tenant_name: slug,
    });
    ids.set(slug, tenant_id);
    if (options.fedByEngines) {
      continue;
    }
    await backend.write(tenant_id, {
      type: 'full',
      entities: entitiesOf(slug),
    });
  }
  const { body } = await request(backend.server).get('/api/auth/guest/refresh');
  const { token } = body.backstageIdentity;

  const send = (tenant: string, method: string, path: string) => {
    const test = request(backend.server).get(`/api/${path}`);
    test.method = method;
    return test
      .set('Authorization', `Bearer ${token}`)
      .set('X-Tenant-Slug', tenant);
  };

  return {
    backend,
    ids,
    token: token as string,
    send,
    get: (tenant: string, path: string) => send(tenant, 'GET', path),
    /** Throws where an answer has what another tenant has. */
    expectOwn(tenant: string, text: string) {
      for (const other of TENANTS.filter(each => each !== tenant)) {
        expect(text).not.toContain(markOf(other));
        expect(text).not.toContain(ids.get(other));
      }
    },
  };
}

export type ThreeTenants = Awaited<ReturnType<typeof startThreeTenants>>;

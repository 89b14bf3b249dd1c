import {
  type BackendFeature,
  coreServices,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import { mockServices, startTestBackend } from '@backstage/backend-test-utils';
import type { JsonObject } from '@backstage/types';
import type { Request } from 'express';
// As the plugins of others do.
import {
  type ActiveTenant,
  assignTenant,
  DEFAULT_TENANT_ID,
  tenantGateServiceRef,
  tenantOf,
} from 'backstage-plugin-catalog-tenancy-node';
import { tenantGateServiceMock } from 'backstage-plugin-catalog-tenancy-node/testUtils';

const ACME: ActiveTenant = {
  tenantId: '00000000-0000-4000-8000-00000000000a',
  tenantSlug: 'acme',
};
const DEFAULT = { tenantId: DEFAULT_TENANT_ID, tenantSlug: 'default' };

/** A plugin that answers with the tenant of the request. */
async function startPlugin(options: {
  tenancy?: JsonObject;
  declares?: boolean;
  features?: BackendFeature[];
}) {
  const { tenancy = {}, declares = true, features = [] } = options;
  const { server } = await startTestBackend({
    features: [
      createBackendPlugin({
        pluginId: 'example',
        register(env) {
          env.registerInit({
            deps: {
              gate: tenantGateServiceRef,
              httpRouter: coreServices.httpRouter,
            },
            async init({ gate, httpRouter }) {
              if (declares) {
                gate.declareTenantAware();
              }
              httpRouter.use((req, res) => {
                res.json(tenantOf(req));
              });
            },
          });
        },
      }),
      mockServices.rootConfig.factory({ data: { tenancy } }),
      ...features,
    ],
  });
  return async (headers: Record<string, string> = {}) => {
    const response = await fetch(
      `http://localhost:${server.port()}/api/example`,
      { headers },
    );
    const body: any = await response.json();
    return { status: response.status, body };
  };
}

describe('tenantOf', () => {
  it('is the default tenant while the flag is off, whatever the request names', async () => {
    const get = await startPlugin({ tenancy: { enabled: false } });
    for (const slug of ['default', 'acme']) {
      expect(await get({ 'x-tenant-slug': slug })).toEqual({
        status: 200,
        body: DEFAULT,
      });
    }
  });

  it('says what a plugin that did not declare itself has to do', async () => {
    const get = await startPlugin({ declares: false });
    const { status, body } = await get();
    expect(status).toBe(500);
    expect(body.error.message).toMatch(/Call declareTenantAware\(\)/);
  });

  it('can not be changed, neither on the request nor by way of it', () => {
    const tenant = { ...ACME };
    const req = {} as Request;
    assignTenant(req, tenant);
    tenant.tenantId = DEFAULT_TENANT_ID;
    Object.assign(req, { tenant: DEFAULT, tenantId: 'x' });
    expect(() => {
      tenantOf(req).tenantId = DEFAULT_TENANT_ID;
    }).toThrow(TypeError);
    expect(tenantOf(req)).toEqual(ACME);
  });
});

describe('a tenant-aware plugin', () => {
  it('does not start with the flag on in a backend without gates', async () => {
    await expect(startPlugin({ tenancy: { enabled: true } })).rejects.toThrow(
      /the plugin 'example' has no gate.*Add backstage-plugin-catalog-backend-module-tenancy to the backend/,
    );
  });

  it('can be tested with the mock of the gate', async () => {
    const get = await startPlugin({
      tenancy: { enabled: true },
      features: [tenantGateServiceMock.factory({ tenants: [ACME] })],
    });
    expect((await get()).body).toEqual(DEFAULT);
    expect((await get({ 'x-tenant-slug': 'acme' })).body).toEqual(ACME);
    expect(await get({ 'x-tenant-slug': 'unknown' })).toEqual({
      status: 403,
      body: { error: 'Invalid tenant' },
    });
  });
});

import {
  coreServices,
  createServiceFactory,
  type ServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  type ActiveTenant,
  assignTenant,
  DEFAULT_TENANT_ID,
  DEFAULT_TENANT_SLUG,
  handleAs,
  type TenantGate,
  tenantGateServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';

const DEFAULT_TENANT: ActiveTenant = {
  tenantId: DEFAULT_TENANT_ID,
  tenantSlug: DEFAULT_TENANT_SLUG,
};

/**
 * Mocks of the gate for tests of tenant-aware plugins.
 *
 * @public
 */
export namespace tenantGateServiceMock {
  /**
   * A service factory for `startTestBackend`. A request to a tenant-aware plugin belongs to the
   * tenant in its header `X-Tenant-Slug`, by default the default tenant. Membership is not
   * checked.
   */
  export const factory = (
    options: { tenants?: ActiveTenant[] } = {},
  ): ServiceFactory<TenantGate, 'plugin'> => {
    const tenants = [...(options.tenants ?? []), DEFAULT_TENANT];
    return createServiceFactory({
      service: tenantGateServiceRef,
      // Like the real gate, which is in front of all routes.
      initialization: 'always',
      deps: { httpRouter: coreServices.httpRouter },
      factory({ httpRouter }) {
        let isTenantAware = false;
        httpRouter.use((req, res, next) => {
          if (!isTenantAware) {
            next();
            return;
          }
          const slug = req.header('x-tenant-slug') ?? DEFAULT_TENANT_SLUG;
          const tenant = tenants.find(({ tenantSlug }) => tenantSlug === slug);
          if (!tenant) {
            res.status(403).json({ error: 'Invalid tenant' });
            return;
          }
          assignTenant(req, tenant);
          handleAs(tenant, next);
        });
        return {
          declareTenantAware() {
            isTenantAware = true;
          },
          stillAdmits: async () => true,
        };
      },
    });
  };
}

import {
  coreServices,
  createServiceFactory,
  type ServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  type ActiveTenant,
  assignTenant,
  OpenTenantGate,
  type TenantGate,
  tenantGateServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';

/**
 * Stand-ins for the gate in front of a plugin, in tests of tenant-aware plugins.
 *
 * @public
 */
export namespace tenantGateServiceMock {
  /**
   * A service factory for `startTestBackend`. A request to a plugin that declares
   * itself tenant-aware belongs to the tenant that its header `X-Tenant-Slug` names,
   * and without one to the default tenant. It asks for no membership.
   */
  export const factory = (
    options: { tenants?: ActiveTenant[] } = {},
  ): ServiceFactory<TenantGate, 'plugin'> =>
    createServiceFactory({
      service: tenantGateServiceRef,
      deps: { httpRouter: coreServices.httpRouter },
      factory({ httpRouter }) {
        const open = new OpenTenantGate(httpRouter);
        return {
          declareTenantAware() {
            open.declareTenantAware();
            httpRouter.use((req, res, next) => {
              const slug = req.header('x-tenant-slug');
              const tenant = options.tenants?.find(
                ({ tenantSlug }) => tenantSlug === slug,
              );
              if (tenant) {
                assignTenant(req, tenant);
              }
              if (tenant || slug === undefined || slug === 'default') {
                next();
              } else {
                res.status(403).json({ error: 'Invalid tenant' });
              }
            });
          },
        };
      },
    });
}

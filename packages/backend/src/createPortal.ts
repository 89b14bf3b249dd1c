import { createBackend } from '@backstage/backend-defaults';
import {
  tenantEngines,
  tenantSignIn,
} from 'backstage-plugin-catalog-backend-module-tenant-engines';

/** Of these the default tenant has the plugin, and each other tenant an instance. */
const forEachTenant = () => ({
  events: [import('@backstage/plugin-events-backend')],
  kubernetes: [import('@backstage/plugin-kubernetes-backend')],
  'mcp-actions': [import('@backstage/plugin-mcp-actions-backend')],
  notifications: [import('@backstage/plugin-notifications-backend')],
  proxy: [import('@backstage/plugin-proxy-backend')],
  scaffolder: [import('@backstage/plugin-scaffolder-backend')],
  search: [
    import('@backstage/plugin-search-backend'),
    import('@backstage/plugin-search-backend-module-pg'),
    import('@backstage/plugin-search-backend-module-catalog'),
    import('@backstage/plugin-search-backend-module-techdocs'),
  ],
  signals: [import('@backstage/plugin-signals-backend')],
  techdocs: [import('@backstage/plugin-techdocs-backend')],
  'user-settings': [import('@backstage/plugin-user-settings-backend')],
});

/**
 * The portal's backend, with everything mounted; in development, maybe without pages, or with
 * plugins that are closed to tenants.
 */
export function createPortal({ pages = true, closed = [] as string[] } = {}) {
  const backend = createBackend();

  if (pages) {
    // Serves what packages/app builds.
    backend.add(import('@backstage/plugin-app-backend'));
  }

  backend.add(import('@backstage/plugin-auth-backend'));
  if (process.env.NODE_ENV === 'development') {
    // Elsewhere nobody may be a guest, and without the configuration of one this
    // module would keep the backend from starting.
    backend.add(import('@backstage/plugin-auth-backend-module-guest-provider'));
  }
  // Signs nobody in without its configuration: app-config.oidc.yaml.
  backend.add(import('@backstage/plugin-auth-backend-module-oidc-provider'));

  // Of tenants that bring providers of their own: with auth.providers.tenant alone.
  backend.add(tenantSignIn);

  backend.add(import('@backstage/plugin-catalog-backend'));
  // Errors of sources are events, which nothing else logs.
  backend.add(import('@backstage/plugin-catalog-backend-module-logs'));
  backend.add(import('backstage-plugin-catalog-backend-module-tenancy'));
  // Of the catalog of each tenant.
  const modules = [
    import('@backstage/plugin-catalog-backend-module-scaffolder-entity-model'),
    import('@backstage/plugin-catalog-backend-module-unprocessed'),
  ];
  modules.forEach(module => backend.add(module));
  const onePerTenant = forEachTenant();
  Object.values(onePerTenant)
    .flat()
    .forEach(feature => backend.add(feature));
  backend.add(
    tenantEngines({
      features: modules,
      onePerTenant: Object.fromEntries(
        Object.entries(onePerTenant).filter(([id]) => !closed.includes(id)),
      ),
    }),
  );
  backend.add(import('backstage-plugin-tenants-backend'));

  // For the administrators of tenants alone, which the gate sees to.
  backend.add(import('@backstage/plugin-devtools-backend'));

  backend.add(import('@backstage/plugin-permission-backend'));
  backend.add(
    import('@backstage/plugin-permission-backend-module-allow-all-policy'),
  );

  backend.add(import('backstage-plugin-mockup-backend'));

  return backend;
}

/** Starts it, and ends the process where that fails. */
export function startPortal(backend: ReturnType<typeof createPortal>): void {
  backend.start().catch(error => {
    // Left alone, the rejection is logged and the process goes on for ever without
    // serving, where whatever runs it could start it again or report the failure.
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  });
}

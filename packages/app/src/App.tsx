import { createApp } from '@backstage/frontend-defaults';
import tenants from 'backstage-plugin-tenants';

/**
 * The portal. The plugins that are dependencies of this package are found by themselves
 * (`app.packages: all` in app-config.yaml).
 */
export function createPortalApp() {
  return createApp({ features: [tenants] });
}

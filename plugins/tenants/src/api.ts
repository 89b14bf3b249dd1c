import { createApiRef } from '@backstage/frontend-plugin-api';
import type { TenantsApi } from 'backstage-plugin-tenants-common';

/**
 * The registry of tenants, at `/api/tenants`.
 *
 * @public
 */
export const tenantsApiRef = createApiRef<TenantsApi>({
  id: 'plugin.tenants.service',
});

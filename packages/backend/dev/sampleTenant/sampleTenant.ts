import { createBackendPlugin } from '@backstage/backend-plugin-api';
import { targetPaths } from '@backstage/cli-common';
import {
  catalogStoreServiceRef,
  tenancyServiceRef,
  type TenantStore,
  tenantStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { readEntities } from './readEntities';
import { SAMPLE_SLUG } from './slug';
import { withRelations } from './withRelations';

const FILE = 'examples/acme.yaml';

/**
 * Gives a portal in development a second tenant with entities of its own. Once it is
 * deleted, it stays so.
 */
export const sampleTenant = createBackendPlugin({
  pluginId: 'sample-tenant',
  register(env) {
    env.registerInit({
      deps: {
        catalog: catalogStoreServiceRef,
        tenancy: tenancyServiceRef,
        tenants: tenantStoreServiceRef,
      },
      async init({ catalog, tenancy, tenants }) {
        if (!tenancy.config.enabled) {
          return;
        }
        const tenantId = await ensureTenant(tenants);
        if (tenantId) {
          const entities = await readEntities(targetPaths.resolveRoot(FILE));
          await catalog.applyMutation(tenantId, {
            type: 'full',
            source: FILE,
            entities: withRelations(entities),
          });
        }
      },
    });
  },
});

async function ensureTenant(tenants: TenantStore): Promise<string | undefined> {
  const found = await tenants.get(SAMPLE_SLUG);
  if (found) {
    return found.deleted_at ? undefined : found.tenant_id;
  }
  const { tenant_id } = await tenants.create({
    tenant_slug: SAMPLE_SLUG,
    tenant_name: 'Acme',
  });
  return tenant_id;
}

import {
  createBackendModule,
  createBackendPlugin,
} from '@backstage/backend-plugin-api';
import type { Entity } from '@backstage/catalog-model';
import { targetPaths } from '@backstage/cli-common';
import { parseEntityYaml } from '@backstage/plugin-catalog-node';
import {
  authProvidersExtensionPoint,
  createProxyAuthenticator,
  createProxyAuthProviderFactory,
} from '@backstage/plugin-auth-node';
import { toFinalEntities } from 'backstage-plugin-catalog-backend-module-tenancy';
import {
  catalogStoreServiceRef,
  tenancyServiceRef,
  tenantEngineStoreServiceRef,
  tenantMemberStoreServiceRef,
  tenantStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { readFile } from 'fs/promises';
import { createPortal, startPortal } from '../src/createPortal';
import { SAMPLE_SLUG } from './banner';
import { sharingPolicy } from './sharingPolicy';

// What `npm start` runs as the backend: that of production, two more tenants, and two more
// users to sign in as.

/** The tenants beside the default one, and who may enter them beside administrators. */
const SAMPLES = [
  {
    tenant_slug: SAMPLE_SLUG,
    tenant_name: 'Acme',
    // Fed by an engine, which app-config.yaml configures.
    file: undefined,
    member: 'user:default/anna',
  },
  {
    tenant_slug: 'initech',
    tenant_name: 'Initech',
    file: 'examples/initech.yaml',
    member: 'group:default/initech-staff',
  },
];

/** Users of examples/org.yaml who sign in at `/api/auth/<name>/refresh`, as guests do. */
const USERS = ['anna', 'peter'];

/**
 * Gives a portal in development more tenants with entities and members of their own. Once
 * one is deleted, it stays so.
 */
const sampleTenants = createBackendPlugin({
  pluginId: 'sample-tenants',
  register(env) {
    env.registerInit({
      deps: {
        catalog: catalogStoreServiceRef,
        engines: tenantEngineStoreServiceRef,
        members: tenantMemberStoreServiceRef,
        tenancy: tenancyServiceRef,
        tenants: tenantStoreServiceRef,
      },
      async init({ catalog, engines, members, tenancy, tenants }) {
        if (!tenancy.config.enabled) {
          return;
        }
        for (const { file, member, ...tenant } of SAMPLES) {
          const found = await tenants.get(tenant.tenant_slug);
          if (found?.deleted_at) {
            continue;
          }
          const { tenant_id } = found ?? (await tenants.create(tenant));
          if (!found) {
            await members.put(
              tenant.tenant_slug,
              { principal: member, role: 'member' },
              { by: 'npm start' },
            );
          }
          if (!file) {
            // An earlier version has written entities there by code.
            await engines.enable(tenant.tenant_slug, {
              by: 'npm start',
              replace: true,
            });
            continue;
          }
          const entities = await readEntities(targetPaths.resolveRoot(file));
          await catalog.applyMutation(tenant_id, {
            type: 'full',
            source: file,
            entities: await toFinalEntities(entities),
          });
        }
      },
    });
  },
});

/** Lets everybody sign in as one of the users, without a password. */
const sampleUsers = createBackendModule({
  pluginId: 'auth',
  moduleId: 'sample-users',
  register(env) {
    env.registerInit({
      deps: { providers: authProvidersExtensionPoint },
      async init({ providers }) {
        const authenticator = createProxyAuthenticator({
          defaultProfileTransform: async () => ({ profile: {} }),
          initialize() {},
          authenticate: async () => ({ result: {} }),
        });
        for (const user of USERS) {
          providers.registerProvider({
            providerId: user,
            factory: createProxyAuthProviderFactory({
              authenticator,
              signInResolver: (_info, context) =>
                context.signInWithCatalogUser({ entityRef: { name: user } }),
            }),
          });
        }
      },
    });
  },
});

/** The entities of a YAML file, as one writes them. */
async function readEntities(path: string): Promise<Entity[]> {
  const results = parseEntityYaml(await readFile(path), {
    type: 'file',
    target: path,
  });
  return [...results].map(result => {
    if (result.type !== 'entity') {
      throw new Error(
        result.type === 'error'
          ? result.error.message
          : `${path} is not usable`,
      );
    }
    return result.entity;
  });
}

// The tests in the browser share mockups, which a policy that allows all would not show.
const sharesMockups = process.env.PORTAL_POLICY === 'sharing';
const portal = createPortal({
  pages: process.env.PORTAL_PAGES !== 'false',
  policy: !sharesMockups,
});
if (sharesMockups) {
  portal.add(sharingPolicy);
}
portal.add(sampleTenants);
portal.add(sampleUsers);
startPortal(portal);

import {
  coreServices,
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
import {
  type TenantEngines,
  tenancyServiceRef,
  tenantEnginesServiceRef,
  tenantMemberStoreServiceRef,
  tenantStoreServiceRef,
} from 'backstage-plugin-catalog-tenancy-node';
import { readFile } from 'fs/promises';
import { setTimeout as delay } from 'timers/promises';
import { createPortal, startPortal } from '../src/createPortal';
import { SAMPLE_SLUG } from './banner';
import { serveSampleClusters } from './sampleClusters';
import { notify, publishDocument } from './sampleContents';

// What `npm start` runs as the backend: that of production, two more tenants, and two more
// users to sign in as.

/** The tenants beside the default one, and who may enter them beside administrators. */
const SAMPLES = [
  {
    tenant_slug: SAMPLE_SLUG,
    tenant_name: 'Acme',
    // app-config.yaml configures its engine.
    file: undefined,
    member: 'user:default/anna',
    contents: {
      component: 'route-planner',
      title: 'How routes are found',
      text: 'Every van starts at the depot, and ends there.',
      recipient: 'user:default/anna',
    },
  },
  {
    tenant_slug: 'initech',
    tenant_name: 'Initech',
    file: 'examples/initech.yaml',
    member: 'group:default/initech-staff',
    contents: {
      component: 'tps-reports',
      title: 'How reports are filed',
      text: 'In three copies, with the memo on top.',
      recipient: 'user:default/peter',
    },
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
        auth: coreServices.auth,
        config: coreServices.rootConfig,
        discovery: coreServices.discovery,
        engines: tenantEnginesServiceRef,
        lifecycle: coreServices.rootLifecycle,
        logger: coreServices.logger,
        members: tenantMemberStoreServiceRef,
        tenancy: tenancyServiceRef,
        tenants: tenantStoreServiceRef,
      },
      async init({ engines, members, tenancy, tenants, ...services }) {
        const { config, lifecycle, logger } = services;
        if (!tenancy.config.enabled) {
          return;
        }
        lifecycle.addShutdownHook(
          await serveSampleClusters(slug => {
            const sample = SAMPLES.find(each => each.tenant_slug === slug);
            return `${sample?.contents.component}-0`;
          }),
        );
        for (const { contents, file, member, ...tenant } of SAMPLES) {
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
            const active = {
              tenantId: tenant_id,
              tenantSlug: tenant.tenant_slug,
            };
            await publishDocument(
              config.getString('techdocs.publisher.local.publishDirectory'),
              active,
              contents,
            );
            // Answered once the backend has started.
            lifecycle.addStartupHook(() => {
              notify(services, active, contents).catch(error =>
                logger.warn(`The notification can't be sent: ${error}`),
              );
            });
          }
          if (file) {
            const entities = await readEntities(targetPaths.resolveRoot(file));
            // Engines start after all plugins. Nothing waits for this one.
            lifecycle.addStartupHook(() => {
              handOver(engines, tenant_id, entities).catch(error =>
                logger.error(`${file} is not in its tenant`, error),
              );
            });
          }
        }
      },
    });
  },
});

/** Tries until the engine of the tenant runs: at first it has to make its tables. */
async function handOver(
  engines: TenantEngines,
  tenantId: string,
  entities: Entity[],
): Promise<void> {
  for (;;) {
    try {
      await engines.applyMutation(tenantId, {
        type: 'full',
        entities: entities.map(entity => ({ entity })),
      });
      return;
    } catch (error) {
      if ((error as Error).name !== 'ServiceUnavailableError') {
        throw error;
      }
      await delay(1_000);
    }
  }
}

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

const portal = createPortal({
  pages: process.env.PORTAL_PAGES !== 'false',
  // For the tests in the browser.
  closed: process.env.PORTAL_CLOSED?.split(','),
});
portal.add(sampleTenants);
portal.add(sampleUsers);
startPortal(portal);

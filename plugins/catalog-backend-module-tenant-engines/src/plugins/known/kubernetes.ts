import {
  type BackendFeature,
  createBackendModule,
  createExtensionPoint,
} from '@backstage/backend-plugin-api';
import type { JsonObject } from '@backstage/types';
import type { InstanceContext, KnownPlugin } from './KnownPlugin';

/*
 * A tenant's clusters come from its catalog or its configuration, and the tenant may write
 * both. So no cluster may be reached with an identity of the portal, or at a host that the
 * operator has not listed.
 */

/** The locators by which upstream finds clusters without an identity of the portal. */
const LOCATORS: readonly unknown[] = ['catalog', 'config'];

/** The ones that need no credentials, or only the user's. */
const USERS_OWN: readonly unknown[] = [
  'aks',
  'google',
  'localKubectlProxy',
  'oidc',
];

export const kubernetes: KnownPlugin = {
  id: 'kubernetes',
  packages: ['@backstage/plugin-kubernetes-backend'],
  background: 'none',
  inherits: [
    'kubernetes.apiVersionOverrides',
    'kubernetes.customResources',
    'kubernetes.objectTypes',
    'kubernetes.serviceLocatorMethod',
  ],

  adapt(instance, _backend, _tenant, hosts) {
    const own = (instance.kubernetes ?? {}) as JsonObject;
    const methods = (own.clusterLocatorMethods ?? [
      { type: 'catalog' },
    ]) as JsonObject[];
    const refused = methods.find(({ type }) => !LOCATORS.includes(type));
    if (refused) {
      throw new Error(
        `Tenants can't have clusters by the method '${refused.type}' of kubernetes.clusterLocatorMethods: it uses the identity of the portal. Expected 'catalog' or 'config'`,
      );
    }
    return {
      ...instance,
      kubernetes: {
        serviceLocatorMethod: { type: 'multiTenant' },
        ...own,
        clusterLocatorMethods: methods.map(method =>
          method.type === 'catalog'
            ? {
                ...method,
                // Upstream refuses all private addresses, including those that the operator
                // listed.
                dangerouslyAllowClusterUrls: hosts.map(withoutPort),
              }
            : method,
        ),
      },
    };
  },

  features: context => [ownClusters(context)],
};

function withoutPort(host: string): string {
  return host.replace(/:\d+$/, '');
}

interface Cluster {
  name: string;
  url: string;
  authMetadata: Record<string, string>;
  caFile?: string;
}

interface ClusterSupplier {
  getClusters(options: object): Promise<Cluster[]>;
}

/** As `@backstage/plugin-kubernetes-node` has it, which a backend without the plugin lacks. */
const clusterSupplierExtensionPoint = createExtensionPoint<{
  addClusterSupplier(
    create: (options: {
      getDefault: () => Promise<ClusterSupplier>;
    }) => Promise<ClusterSupplier>,
  ): void;
}>({ id: 'kubernetes.cluster-supplier' });

/** Leaves out the clusters that a tenant may not have, with the reason in the log. */
function ownClusters({ isListed, logger }: InstanceContext): BackendFeature {
  return createBackendModule({
    pluginId: 'kubernetes',
    moduleId: 'clusters-of-tenant',
    register(env) {
      env.registerInit({
        deps: { suppliers: clusterSupplierExtensionPoint },
        async init({ suppliers }) {
          suppliers.addClusterSupplier(async ({ getDefault }) => {
            const all = await getDefault();
            return {
              getClusters: async options =>
                (await all.getClusters(options)).filter(cluster => {
                  const reason = reasonAgainst(cluster, isListed);
                  if (reason !== undefined) {
                    logger.warn(
                      `The cluster '${cluster.name}' is left out: ${reason}`,
                    );
                  }
                  return reason === undefined;
                }),
            };
          });
        },
      });
    },
  });
}

function reasonAgainst(
  { authMetadata, caFile, url }: Cluster,
  isListed: InstanceContext['isListed'],
): string | undefined {
  if (!URL.canParse(url) || !isListed(new URL(url))) {
    return 'its host is not listed. Add it to tenancy.engines.allow';
  }
  const provider = authMetadata['kubernetes.io/auth-provider'];
  const hasToken =
    provider === 'serviceAccount' && authMetadata.serviceAccountToken;
  if (!hasToken && !USERS_OWN.includes(provider)) {
    return `'${provider}' would use the identity of the portal. Use a serviceAccountToken, or the credentials of users`;
  }
  return caFile === undefined
    ? undefined
    : 'caFile is a file of the server. Use caData';
}

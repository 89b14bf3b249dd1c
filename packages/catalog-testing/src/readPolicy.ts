import {
  type BackendFeature,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import { catalogEntityReadPermission } from '@backstage/plugin-catalog-common/alpha';
import {
  AuthorizeResult,
  isPermission,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import { policyExtensionPoint } from '@backstage/plugin-permission-node/alpha';

/**
 * A policy that decides about reading entities, by what the user owns them as, and
 * allows all else.
 */
export function readPolicy(
  decide: (claims: string[]) => PolicyDecision,
): BackendFeature {
  return createBackendModule({
    pluginId: 'permission',
    moduleId: 'read-policy',
    register(env) {
      env.registerInit({
        deps: { policies: policyExtensionPoint },
        async init({ policies }) {
          policies.setPolicy({
            handle: async ({ permission }, user) =>
              isPermission(permission, catalogEntityReadPermission)
                ? decide(user?.info.ownershipEntityRefs ?? [])
                : { result: AuthorizeResult.ALLOW },
          });
        },
      });
    },
  });
}

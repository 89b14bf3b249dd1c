import type { PolicyDecision } from '@backstage/plugin-permission-common';
import {
  AuthorizeResult,
  isPermission,
} from '@backstage/plugin-permission-common';
import type {
  PermissionPolicy,
  PolicyQuery,
  PolicyQueryUser,
} from '@backstage/plugin-permission-node';
import {
  catalogConditions,
  createCatalogConditionalDecision,
} from '@backstage/plugin-catalog-backend/alpha';
import { catalogEntityDeletePermission } from '@backstage/plugin-catalog-common/alpha';
import { tenantOfPolicyUser } from 'backstage-plugin-catalog-tenancy-node';

/** In a tenant, its admins delete any entity, and others those that they own. */
export class TenantPolicy implements PermissionPolicy {
  async handle(
    { permission }: PolicyQuery,
    user?: PolicyQueryUser,
  ): Promise<PolicyDecision> {
    const { role } = await tenantOfPolicyUser(user);
    if (
      isPermission(permission, catalogEntityDeletePermission) &&
      role !== 'admin'
    ) {
      return createCatalogConditionalDecision(
        permission,
        catalogConditions.isEntityOwner({
          claims: user?.info.ownershipEntityRefs ?? [],
        }),
      );
    }
    return { result: AuthorizeResult.ALLOW };
  }
}

import { createBackendModule } from '@backstage/backend-plugin-api';
import {
  AuthorizeResult,
  isPermission,
  isResourcePermission,
  type PolicyDecision,
} from '@backstage/plugin-permission-common';
import type {
  PermissionPolicy,
  PolicyQuery,
  PolicyQueryUser,
} from '@backstage/plugin-permission-node';
import { policyExtensionPoint } from '@backstage/plugin-permission-node/alpha';
import {
  mockupReadPermission,
  mockupReviewPermission,
  mockupUpdatePermission,
} from 'backstage-plugin-mockup-common';
import {
  createMockupConditionalDecision,
  mockupConditions,
} from 'backstage-plugin-mockup-node';

/** Everything is allowed, but mockups are their owners' and those of the groups they share with. */
class OwnersAndGroupsPolicy implements PermissionPolicy {
  async handle(
    { permission }: PolicyQuery,
    user?: PolicyQueryUser,
  ): Promise<PolicyDecision> {
    if (!isResourcePermission(permission, 'mockup')) {
      return { result: AuthorizeResult.ALLOW };
    }
    const claims = user?.info.ownershipEntityRefs ?? [];
    const isOwner = mockupConditions.isOwner({ claims });
    const { isSharedWith } = mockupConditions;
    if (
      isPermission(permission, mockupReadPermission) ||
      isPermission(permission, mockupReviewPermission)
    ) {
      return createMockupConditionalDecision(permission, {
        anyOf: [isOwner, isSharedWith({ claims, access: 'read' })],
      });
    }
    if (isPermission(permission, mockupUpdatePermission)) {
      return createMockupConditionalDecision(permission, {
        anyOf: [isOwner, isSharedWith({ claims, access: 'write' })],
      });
    }
    return createMockupConditionalDecision(permission, isOwner);
  }
}

/** The policy that the README of backstage-plugin-mockup-node shows, in place of one that allows all. */
export const sharingPolicy = createBackendModule({
  pluginId: 'permission',
  moduleId: 'sharing-policy',
  register(env) {
    env.registerInit({
      deps: { policy: policyExtensionPoint },
      async init({ policy }) {
        policy.setPolicy(new OwnersAndGroupsPolicy());
      },
    });
  },
});

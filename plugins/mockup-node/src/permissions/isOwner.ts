import { createPermissionRule } from '@backstage/plugin-permission-node';
import { z } from 'zod';
import { mockupPermissionResourceRef } from './resource';

/**
 * Allows the mockups whose owner is among the given claims, usually the
 * ownership entity refs of the user who asks.
 */
export const isOwner = createPermissionRule({
  name: 'IS_OWNER',
  description: 'Allow mockups that are owned by one of the given users',
  resourceRef: mockupPermissionResourceRef,
  paramsSchema: z.object({
    claims: z
      .array(z.string())
      .describe('User entity refs, one of which must be the owner'),
  }),
  apply: (mockup, { claims }) => claims.includes(mockup.owner),
  toQuery: ({ claims }) => ({ owner: claims }),
});

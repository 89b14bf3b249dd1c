import { createPermissionRule } from '@backstage/plugin-permission-node';
import { z } from 'zod';
import { mockupPermissionResourceRef } from './resource';

/**
 * Allows the mockups that are shared with one of the given groups, usually those among the
 * ownership entity refs of the user who asks. What is shared for writing is shared for
 * reading, too.
 */
export const isSharedWith = createPermissionRule({
  name: 'IS_SHARED_WITH',
  description: 'Allow mockups that are shared with one of the given groups',
  resourceRef: mockupPermissionResourceRef,
  paramsSchema: z.object({
    claims: z
      .array(z.string())
      .describe('Entity refs, one of which must be a group of the shares'),
    access: z
      .enum(['read', 'write'])
      .optional()
      .describe('What the mockup must be shared for; read if not given'),
  }),
  apply: (mockup, { claims, access }) =>
    (mockup.shares ?? []).some(
      share =>
        claims.includes(share.group) &&
        (access !== 'write' || share.access === 'write'),
    ),
  toQuery: ({ claims, access = 'read' }) => ({ sharedWith: claims, access }),
});

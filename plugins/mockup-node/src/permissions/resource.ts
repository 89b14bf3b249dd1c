import { createPermissionResourceRef } from '@backstage/plugin-permission-node';
import type { Mockup } from 'backstage-plugin-mockup-common';
import { RESOURCE_TYPE_MOCKUP } from 'backstage-plugin-mockup-common';
import type { MockupCondition } from '../store';

/**
 * A mockup as a resource of the permission framework. Modules that add rules
 * of their own refer to it.
 *
 * @public
 */
export const mockupPermissionResourceRef = createPermissionResourceRef<
  Mockup,
  MockupCondition
>().with({
  pluginId: 'mockup',
  resourceType: RESOURCE_TYPE_MOCKUP,
});

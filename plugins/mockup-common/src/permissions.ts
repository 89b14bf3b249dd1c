import {
  type BasicPermission,
  createPermission,
  type ResourcePermission,
} from '@backstage/plugin-permission-common';

/**
 * The permission resource type of a mockup. Its resource references are the
 * ids of mockups.
 *
 * @public
 */
export const RESOURCE_TYPE_MOCKUP = 'mockup';

/**
 * Seeing a mockup and its versions. A mockup that a caller may not read looks
 * to that caller as if it did not exist.
 *
 * @public
 */
export const mockupReadPermission = createPermission({
  name: 'mockup.read',
  attributes: { action: 'read' },
  resourceType: RESOURCE_TYPE_MOCKUP,
});

/**
 * Creating a mockup, which the creator then owns.
 *
 * @public
 */
export const mockupCreatePermission = createPermission({
  name: 'mockup.create',
  attributes: { action: 'create' },
});

/**
 * Changing the name or description of a mockup, saving and restoring versions of it,
 * and changing their tags.
 *
 * @public
 */
export const mockupUpdatePermission = createPermission({
  name: 'mockup.update',
  attributes: { action: 'update' },
  resourceType: RESOURCE_TYPE_MOCKUP,
});

/**
 * Moving a mockup and its versions to the trash, restoring it from there, and deleting it
 * for good.
 *
 * @public
 */
export const mockupDeletePermission = createPermission({
  name: 'mockup.delete',
  attributes: { action: 'delete' },
  resourceType: RESOURCE_TYPE_MOCKUP,
});

/**
 * Changing with which groups a mockup is shared.
 *
 * @public
 */
export const mockupSharePermission = createPermission({
  name: 'mockup.share',
  attributes: { action: 'update' },
  resourceType: RESOURCE_TYPE_MOCKUP,
});

/**
 * Showing a version of a mockup as a page of the portal, and taking the page back.
 *
 * @public
 */
export const mockupPagePublishPermission = createPermission({
  name: 'mockup.page.publish',
  attributes: { action: 'update' },
  resourceType: RESOURCE_TYPE_MOCKUP,
});

/**
 * Making a page the home page of its audience. In a tenant with roles only its admins may,
 * whatever the policy says.
 *
 * @public
 */
export const mockupPageHomePermission = createPermission({
  name: 'mockup.page.home',
  attributes: { action: 'update' },
});

/**
 * Marking a version of a mockup as ready, and taking that back. Nobody marks a version that they
 * have saved themselves, whatever the policy says.
 *
 * @public
 */
export const mockupReviewPermission = createPermission({
  name: 'mockup.review',
  attributes: { action: 'update' },
  resourceType: RESOURCE_TYPE_MOCKUP,
});

/**
 * Deciding whether versions have to be ready before they are published. In a tenant with roles
 * only its admins may, whatever the policy says.
 *
 * @public
 */
export const mockupReviewRequirePermission = createPermission({
  name: 'mockup.review.require',
  attributes: { action: 'update' },
});

/**
 * All permissions of the mockup plugin.
 *
 * @public
 */
export const mockupPermissions: Array<
  ResourcePermission<'mockup'> | BasicPermission
> = [
  mockupReadPermission,
  mockupCreatePermission,
  mockupUpdatePermission,
  mockupDeletePermission,
  mockupSharePermission,
  mockupPagePublishPermission,
  mockupPageHomePermission,
  mockupReviewPermission,
  mockupReviewRequirePermission,
];

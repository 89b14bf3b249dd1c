/**
 * On a copy that a tenant has received: the id of the share.
 *
 * @public
 */
export const ANNOTATION_SHARE = 'catalog-tenancy/share';

/**
 * On a copy that a tenant has received: the slug of the tenant that it is from.
 *
 * @public
 */
export const ANNOTATION_SHARED_FROM = 'catalog-tenancy/shared-from';

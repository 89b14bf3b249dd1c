import { createPermission } from '@backstage/plugin-permission-common';

/**
 * Seeing the registry of tenants, and what each tenant uses.
 *
 * @public
 */
export const tenantReadPermission = createPermission({
  name: 'tenancy.tenant.read',
  attributes: { action: 'read' },
});

/**
 * Creating a tenant.
 *
 * @public
 */
export const tenantCreatePermission = createPermission({
  name: 'tenancy.tenant.create',
  attributes: { action: 'create' },
});

/**
 * Changing the name or the limits of a tenant.
 *
 * @public
 */
export const tenantUpdatePermission = createPermission({
  name: 'tenancy.tenant.update',
  attributes: { action: 'update' },
});

/**
 * Deleting a tenant, and restoring it.
 *
 * @public
 */
export const tenantDeletePermission = createPermission({
  name: 'tenancy.tenant.delete',
  attributes: { action: 'delete' },
});

/**
 * All permissions of the registry of tenants.
 *
 * @public
 */
export const tenantPermissions = [
  tenantReadPermission,
  tenantCreatePermission,
  tenantUpdatePermission,
  tenantDeletePermission,
];

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
 * Changing the name or the limits of a tenant, and pausing its engine.
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
 * Seeing the members of a tenant, as an admin of that tenant. Administrators of all
 * tenants need it not.
 *
 * @public
 */
export const tenantMemberReadPermission = createPermission({
  name: 'tenancy.member.read',
  attributes: { action: 'read' },
});

/**
 * Adding, changing and removing the members of a tenant, as an admin of that tenant.
 * Administrators of all tenants need it not.
 *
 * @public
 */
export const tenantMemberUpdatePermission = createPermission({
  name: 'tenancy.member.update',
  attributes: { action: 'update' },
});

/**
 * Seeing the engine of a tenant and its configuration, as an admin of that tenant.
 * Administrators of all tenants need it not.
 *
 * @public
 */
export const tenantConfigReadPermission = createPermission({
  name: 'tenancy.tenant.config.read',
  attributes: { action: 'read' },
});

/**
 * Configuring the engine of a tenant, as an admin of that tenant. Administrators of all
 * tenants need it not.
 *
 * @public
 */
export const tenantConfigUpdatePermission = createPermission({
  name: 'tenancy.tenant.config.update',
  attributes: { action: 'update' },
});

/**
 * Seeing what a tenant shares and receives, as an admin of that tenant. Administrators of all
 * tenants need it not.
 *
 * @public
 */
export const tenantShareReadPermission = createPermission({
  name: 'tenancy.share.read',
  attributes: { action: 'read' },
});

/**
 * Sharing entities of a tenant with others, and ending that: for administrators of all tenants.
 *
 * @public
 */
export const tenantShareUpdatePermission = createPermission({
  name: 'tenancy.share.update',
  attributes: { action: 'update' },
});

/**
 * Seeing the audit trail of a tenant, as an admin of that tenant. Administrators of all tenants
 * need it not.
 *
 * @public
 */
export const tenantAuditReadPermission = createPermission({
  name: 'tenancy.audit.read',
  attributes: { action: 'read' },
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
  tenantMemberReadPermission,
  tenantMemberUpdatePermission,
  tenantConfigReadPermission,
  tenantConfigUpdatePermission,
  tenantShareReadPermission,
  tenantShareUpdatePermission,
  tenantAuditReadPermission,
];

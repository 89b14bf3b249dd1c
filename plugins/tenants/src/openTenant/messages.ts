/** Texts about the tenant that is open in this page. */
export const openTenantMessages = {
  label: 'Tenant',
} as const;

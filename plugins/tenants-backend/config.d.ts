export interface Config {
  tenancy?: {
    /**
     * Whether users to whom the permission policy allows `tenancy.tenant.*` may
     * administer tenants as well; false by default. Needs `permission.enabled`, and a
     * policy that decides on these permissions: one that allows everything makes
     * every user an administrator.
     */
    adminsByPermission?: boolean | string;
  };
}

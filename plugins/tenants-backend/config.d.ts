export interface Config {
  tenancy?: {
    /**
     * Who may administer tenants at `/api/tenants`: users as
     * `user:<namespace>/<name>`, services by their subject, such as
     * `plugin:scaffolder`, `ci` (a static token's, as it is configured) or
     * `external:ci` (a JSON Web Token's). Nobody by default.
     */
    admins?: string[];

    /**
     * Whether users to whom the permission policy allows `tenancy.tenant.*` may
     * administer tenants as well; false by default. Needs `permission.enabled`, and a
     * policy that decides on these permissions: one that allows everything makes
     * every user an administrator.
     */
    adminsByPermission?: boolean | string;
  };
}

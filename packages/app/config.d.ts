export interface Config {
  auth?: {
    /** The page for signing in offers the providers of this list that are configured. */
    providers?: {
      /**
       * The administrator of a portal in development.
       * @visibility frontend
       */
      guest?: {};
      /**
       * A user of a portal in development.
       * @visibility frontend
       */
      anna?: {};
      /**
       * A user of a portal in development.
       * @visibility frontend
       */
      peter?: {};
      /**
       * Any provider that speaks OpenID Connect.
       * @visibility frontend
       */
      oidc?: {};
    };
  };
  tenancy?: {
    /**
     * At a hostname below these, the page for signing in offers the provider of the tenant.
     * @deepVisibility frontend
     */
    baseDomains?: string[];
  };
}

export interface Config {
  auth?: {
    providers?: {
      /**
       * Lets tenants bring OpenID providers of their own, which their page of members has.
       * @visibility frontend
       */
      tenant?: {
        /**
         * The redirect URL, to which `?tenant=<slug>` is added; that of the auth plugin by default.
         * @visibility frontend
         */
        callbackUrl?: string;
      };
    };
  };
}

export interface Config {
  mockup?: {
    frames?: {
      /**
       * Hosts, with their ports, of which the component `frame` shows pages; none where it is not
       * given. The `frame-src` of `backend.csp` has to name them too.
       * @visibility frontend
       */
      hosts?: string[];
    };
  };
}

import { HumanDuration } from '@backstage/types';

export interface Config {
  mockup?: {
    frames?: {
      /**
       * Hosts, with their ports, of which the component `frame` shows pages in the browser; none
       * where it is not given. The `frame-src` of `backend.csp` has to name them too.
       * @visibility frontend
       */
      hosts?: string[];
    };
    import?: {
      /** How many bytes a file to import may have; 33554432 (32 MiB) by default. */
      maxBytes?: number;
      /** How many versions all mockups of a file may have; 50000 by default. */
      maxVersions?: number;
    };
    trash?: {
      /**
       * How long deleted mockups can be restored, as `30d`, `{ days: 30 }` or an ISO duration;
       * at most 1000 years; `forever` keeps them. Later they are deleted for good, within an
       * hour. 30 days where it is not given.
       */
      retention?: HumanDuration | string;
    };
    versions?: {
      /**
       * How many versions without a tag each mockup keeps: older ones are deleted for good,
       * within an hour. Versions with a tag, the newest, and those that are published or ready
       * to be always stay. All stay where it is not given.
       */
      keep?: number;
    };
  };
}

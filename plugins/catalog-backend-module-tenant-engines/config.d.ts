import type { HumanDuration } from '@backstage/types';

export interface Config {
  integrations?: {
    /** Backstage reads it, and has no schema for it. */
    awsCodeCommit?: Array<{
      /** `<region>.console.aws.amazon.com` by default. */
      host?: string;
      region: string;
      accessKeyId?: string;
      /** @visibility secret */
      secretAccessKey?: string;
      roleArn?: string;
      externalId?: string;
    }>;
  };
  auth?: {
    providers?: {
      /**
       * Lets tenants bring OpenID providers of their own, which the registry has. It needs
       * `auth.session.secret`, `tenancy.membership: required` and
       * `tenancy.membershipOfDefault: members`.
       *
       * @visibility frontend
       */
      tenant?: {
        /** The redirect URL, to which `?tenant=<slug>` is added; that of the auth plugin by default. */
        callbackUrl?: string;
        /** As long as a session lasts at most; a thousand days by default. */
        sessionDuration?: HumanDuration | string;
      };
    };
  };
  tenancy?: {
    /** The catalog engines of tenants. */
    engines?: {
      /**
       * How often an engine reads each location again, where its own configuration does
       * not say; 30 minutes by default.
       */
      processingInterval?: HumanDuration | string;

      /**
       * The shortest interval that tenants may configure for themselves, between two
       * readings of a location and between two runs of a provider; a minute by default.
       */
      minProcessingInterval?: HumanDuration | string;

      /**
       * A folder of secrets: the configuration of a tenant in the registry may reference
       * the files of the folder in it that has the slug of the tenant as its name.
       */
      secretsDirectory?: string;

      /**
       * Keys of this configuration that engines and instances of tenants have beside those that
       * docs/integrators/engines.md lists, such as `jenkins` or `notes.limits`.
       */
      inherit?: string[];

      /**
       * Whether this process does background work of tenants, `all` by default: their
       * polls and scheduled tasks, divided among all such processes. With `none` it serves
       * requests only.
       */
      role?: 'all' | 'none';

      /**
       * Whether engines run all the time; `false` by default: one without work, requests and
       * scheduled tasks is stopped until it is due. Set it where a module of yours works by
       * timers or connections of its own.
       */
      keepRunning?: boolean;

      /**
       * After how many seconds other processes take the tenants of one that is gone, paused
       * or cut off from the database: a whole number from 5 to 300; 15 by default. The same in
       * all processes.
       */
      leaseSeconds?: number;

      /**
       * Hosts that modules of engines may connect to by themselves, such as entity providers,
       * beside those of `integrations` and `backend.reading.allow` and the internet. Sources
       * of tenants may not lead there.
       */
      allow?: {
        /** As in `backend.reading.allow`: with the port, or `*.` before a domain. */
        host: string;
        paths?: string[];
      }[];

      /**
       * How much an engine takes of one source. What is beyond is an error at the location.
       */
      sources?: {
        /**
         * Bytes of a file, as it is sent, and of all files that an entity includes by placeholders;
         * 5242880 by default.
         */
        maxBytes?: number;
        /**
         * Bytes of the archive in which the files of a pattern are looked for, and of these files
         * after they are unpacked; 104857600 by default. Other files may have ten times as many on
         * disk.
         */
        maxArchiveBytes?: number;
        /**
         * Documents of a file, files that a pattern finds, targets of a location, and entities of
         * one that is tried out; 1000 by default.
         */
        maxEntities?: number;
        /** Scalars, lists and maps of a document; 10000 by default. */
        maxValues?: number;
        /** Lists and maps inside each other; 100 by default. */
        maxDepth?: number;
        /**
         * Bytes of an entity as JSON, with the files that it includes by placeholders; 5242880 by
         * default. Also of those that code hands over or a module brings.
         */
        maxEntityBytes?: number;
        /** For one read, and for the parsing of a file; 30 seconds by default. */
        timeout?: HumanDuration | string;
      };

      pool?: {
        /**
         * Sessions of PostgreSQL that all engines of one process share; 20 by default. One
         * tenant uses half of them at most. A pooler such as PgBouncer has to keep them:
         * `pool_mode = session`.
         */
        max?: number;
      };
    };

    /** Plugins of which each tenant has an instance. */
    plugins?: {
      /**
       * By the id of a plugin: what its instances have below the key of that name, over what they
       * have of this configuration. `$${tenant.id}` and `$${tenant.slug}` stand for the tenant.
       */
      config?: {
        [pluginId: string]: {
          [key: string]:
            | Secrets
            | { [key: string]: Secrets | unknown[] | string | number | boolean }
            | unknown[]
            | string
            | number
            | boolean;
        };
      };

      /**
       * Keys of instances that tenants may configure themselves, such as
       * `scaffolder.defaultAuthor`; none by default.
       */
      tenantKeys?: string[];

      pool?: {
        /**
         * Connections that all instances of one plugin share in a process; 10 by default. One
         * tenant uses half of them at most.
         */
        max?: number;
      };
    };

    /** What the operator configures for single tenants, by their slug. */
    tenants?: {
      [tenantSlug: string]: {
        /**
         * The environment variables that the configuration of this tenant in the
         * registry may reference; none by default.
         */
        secrets?: string[];

        /**
         * As `catalog` of the backend, for the engine of this tenant. With it or with
         * `integrations`, the configuration of the tenant in the registry is not used.
         */
        catalog?: {
          /** As `catalog.locations`; `type: file` is possible too. */
          locations?: Array<{
            type: string;
            target: string;
            rules?: Array<{ allow: string[] }>;
          }>;

          /** As `catalog.providers`. */
          providers?: {
            [type: string]: {
              [idOrKey: string]:
                | Secrets
                | unknown[]
                | string
                | number
                | boolean;
            };
          };

          /** As `catalog.rules`, which counts where this key is absent. */
          rules?: Array<{ [key: string]: unknown }>;

          /** As `catalog.processingInterval`. */
          processingInterval?: HumanDuration | string | false;
        };

        /** As `integrations` of the backend, which the tenant does not get. */
        integrations?: {
          [type: string]: Array<Secrets> | Secrets;
        };
      };
    };
  };
}

/**
 * What Backstage keeps out of logs, by the names that integrations and providers give
 * it. All strings of a configuration are too many: logs would lose each name of a host or an
 * organization.
 */
interface Secrets {
  [key: string]: unknown;
  /** @visibility secret */
  token?: string;
  /** @visibility secret */
  apiKey?: string;
  /** @visibility secret */
  password?: string;
  /** @visibility secret */
  appPassword?: string;
  /** @visibility secret */
  secret?: string;
  /** @visibility secret */
  clientSecret?: string;
  /** @visibility secret */
  secretAccessKey?: string;
  /** @visibility secret */
  accountKey?: string;
  /** @visibility secret */
  sasToken?: string;
  /** @visibility secret */
  connectionString?: string;
  /** @visibility secret */
  privateKey?: string;
  /** @visibility secret */
  commitSigningKey?: string;
  aadCredential?: {
    [key: string]: unknown;
    /** @visibility secret */
    clientSecret?: string;
  };
  apps?: Array<{
    [key: string]: unknown;
    /** @visibility secret */
    privateKey?: string;
    /** @visibility secret */
    webhookSecret?: string;
    /** @visibility secret */
    clientSecret?: string;
  }>;
  credentials?: Array<{
    [key: string]: unknown;
    /** @visibility secret */
    personalAccessToken?: string;
    /** @visibility secret */
    clientSecret?: string;
  }>;
  bind?: {
    [key: string]: unknown;
    /** @visibility secret */
    secret?: string;
  };
}

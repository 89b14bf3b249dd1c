/** A URL, or keys of `backend.database.connection`. */
type Connection =
  | string
  | {
      /** How Backstage gets the password; `default` where one is given here. */
      type?: 'default' | 'azure' | 'cloudsql' | 'rds';
      host?: string;
      port?: number | string;
      user?: string;
      /**
       * @visibility secret
       */
      password?: string;
      /** For a replica: the same database, where a connection pooler has another name for it. */
      database?: string;
      /** Options of the session, such as `-c jit=off`. */
      options?: string;
      /** Of `rds`. */
      region?: string;
      /** Of `cloudsql`. */
      instance?: string;
      /** Of `cloudsql`. */
      ipAddressType?: string;
      /**
       * Of `azure`.
       *
       * @deepVisibility secret
       */
      tokenCredential?: { [key: string]: unknown };
      /**
       * Whether the connection is encrypted, or how: the options of
       * `tls.connect` of Node.js.
       *
       * @deepVisibility secret
       */
      ssl?: boolean | { [option: string]: unknown };
    };

export interface Config {
  /** Several tenants in one catalog. */
  tenancy?: {
    /**
     * Whether requests belong to tenants: on when it is `true`, exactly. Off, every
     * request belongs to the default tenant. Usually `${MULTI_TENANCY_ENABLED}`,
     * which counts too where this key is absent.
     */
    enabled?: boolean | string;

    /** The schema of the tables, in the catalog's database; `tenancy` by default. */
    schema?: string;

    /**
     * The key that the tokens of tenants are signed with (HS256), or several: a token of
     * any of them counts, so that the issuer can change to another one, and empty ones do not. The
     * environment
     * variable `JWT_SECRET` counts where this key is absent; without either, no
     * token names a tenant.
     *
     * @deepVisibility secret
     */
    jwtSecret?: string | string[];

    /**
     * Refuses a request that names one tenant and carries a token of another; false
     * by default.
     */
    requireMatchingToken?: boolean | string;

    /**
     * The host names below which each tenant has its own, such as
     * `portal.example.com` for `<tenant>.portal.example.com`. Requests to other
     * hosts are refused, but for those of base URLs, addresses and single labels.
     * Without them, the first label of any host name is taken for a tenant's.
     */
    baseDomains?: string[];

    /** What tenants other than the default one may use. */
    plugins?: {
      /**
       * The ids of plugins that know no tenants and hold nothing of theirs: all
       * tenants may use them. `app`, `auth`, `permission` and `tenants` are always
       * among them. A plugin that is neither here nor tenant-aware is closed to
       * tenants other than the default one, because it would show them what belongs to
       * that.
       */
      shared?: string[];
    };

    /**
     * Whether only members, `tenancy.admins` and tokens of the tenant enter a tenant other
     * than the default one (`required`, the default), or every signed-in caller (`open`).
     */
    membership?: 'required' | 'open';

    /**
     * Who enters the default tenant: `everyone` who is signed in, the default, or its
     * `members` only.
     */
    membershipOfDefault?: 'everyone' | 'members';

    /**
     * Who may administer tenants, and enters each of them: users as
     * `user:<namespace>/<name>`, services by their subject, such as `plugin:scaffolder`,
     * `ci` (a static token's, as it is configured) or `external:ci` (a JSON Web Token's).
     * Nobody by default.
     */
    admins?: string[];

    /**
     * Whether users to whom the permission policy allows `tenancy.tenant.*` may
     * administer tenants as well; false by default. Needs `permission.enabled`, and a
     * policy that decides on these permissions: one that allows everything makes
     * every user an administrator.
     */
    adminsByPermission?: boolean | string;

    /**
     * What each tenant may have under way at once, in each process, unless the registry gives
     * the tenant limits of its own.
     */
    limits?: {
      /**
       * Operations in the database; a twentieth of `tenancy.database.pool.max` by default, and
       * two at least. Further ones wait for ten seconds at most, until they are answered with
       * status 429.
       */
      concurrency?: number | string;
      /**
       * The same while another tenant is at work; half of `concurrency` by default, and one at
       * least.
       */
      concurrencyBesideOthers?: number | string;
      /**
       * How many wait, before others are answered with status 429; a hundred times
       * `concurrency` by default.
       */
      queue?: number | string;
      /**
       * How many requests a tenant may send, until others are answered with status 429; any
       * number by default. What plugins ask of each other is not counted.
       */
      requestsPerSecond?: number | string;
      /**
       * How many of these may come at once; `requestsPerSecond` by default. They count for as
       * long as that many take at that rate.
       */
      burst?: number | string;
    };

    /** What the audit trail of each tenant keeps. */
    audit?: {
      /** For how many days events are kept; 90 by default. */
      keepDays?: number | string;
      /**
       * Events of a lower severity are not stored. `medium` by default, which has what changes
       * something; `low` has reads too.
       */
      minSeverity?: 'low' | 'medium' | 'high' | 'critical';
      /** Gets the events of all tenants, as JSON lines. */
      webhook?: {
        /**
         * It may hold a token.
         *
         * @visibility secret
         */
        url?: string;
        /**
         * Signs what is sent: `X-Tenancy-Signature` is `sha256=` and the HMAC of the body.
         *
         * @visibility secret
         */
        secret?: string;
      };
    };

    permissions?: {
      /**
       * For how long, in milliseconds, what the permission backend has allowed a user to read
       * of a tenant's catalog holds for further requests with the same token and tenant; 60000
       * at most, 1000 by default. With 0 it decides about each request, and a right that is
       * revoked is gone at once.
       */
      maxDecisionAgeMs?: number | string;
    };

    database?: {
      /**
       * What differs from the connection of the catalog's own database, as a URL or with keys
       * of `backend.database.connection`: the user at least, which has to be `portal_app` or
       * one like it.
       *
       * @visibility secret
       */
      connection?: Connection;

      pool?: {
        /** Connections of one process; 100 by default. */
        max?: number | string;
        /** For how long, in milliseconds, an unused one is kept; 30000 by default. */
        idleTimeoutMs?: number | string;
        /**
         * For how long, in milliseconds, an operation waits for one, until it is
         * answered with status 503; 2000 by default.
         */
        connectionTimeoutMs?: number | string;
        /**
         * For how long, in milliseconds, a single query may take, until it is stopped
         * and answered with status 503; 30000 by default. A `statement_timeout` of
         * the database user holds instead.
         */
        statementTimeoutMs?: number | string;
      };

      /**
       * A replica of the database by streaming replication, which answers reads of
       * catalogs.
       */
      replica?: {
        /**
         * What differs from the connection to the primary: where it is, at least.
         *
         * @visibility secret
         */
        connection?: Connection;
        /**
         * How old, in milliseconds, an answer may be; 5000 by default. A replica that
         * is further behind is not used.
         */
        maxStalenessMs?: number | string;
      };
    };
  };
}

import type { Config } from '@backstage/config';
import { InputError } from '@backstage/errors';
import type { ClientConfig } from 'pg';
import { z } from 'zod';
import type { Config as Schema } from '../../config';
import { AUDIT, type AuditConfig } from './AuditConfig';
import { configKeys, parseConfig } from './parseConfig';
import {
  boolean,
  connectionOr,
  domains,
  filledText,
  flag,
  configInteger,
  isTrue,
  identifier,
  oneOf,
  pluginIds,
  secrets,
} from './values';

/**
 * What differs from the connection of the catalog's own database: a URL, or keys of
 * `backend.database.connection`.
 *
 * @public
 */
export type TenancyConnection =
  | string
  | (Pick<
      ClientConfig,
      'host' | 'port' | 'user' | 'database' | 'ssl' | 'options'
    > & {
      password?: string;
      /** How Backstage gets the password; `default` with a password of its own. */
      type?: 'default' | 'azure' | 'cloudsql' | 'rds';
      /** For `rds`. */
      region?: string;
      /** For `cloudsql`. */
      instance?: string;
      ipAddressType?: string;
      /** For `azure`. */
      tokenCredential?: object;
    });

/**
 * Limits of the connection pool (specification, "Tenant and runtime limits").
 *
 * @public
 */
export interface TenancyPoolLimits {
  /** The most connections; 100 by default. */
  max: number;
  /** How long an idle connection stays open, in milliseconds; 30,000 by default. */
  idleTimeoutMs: number;
  /** How long an operation waits for a connection, in milliseconds; 2,000 by default. */
  connectionTimeoutMs: number;
  /**
   * How long one statement may take, in milliseconds; 30,000 by default. A `statement_timeout`
   * that is set for the database user takes precedence.
   */
  statementTimeoutMs?: number;
}

/**
 * How many operations of one tenant a process runs at once. The registry can override it for a
 * tenant.
 *
 * @public
 */
export interface OperationLimits {
  /**
   * Concurrent operations in the database; by default a twentieth of the pool's connections, at
   * least 2.
   */
  concurrency: number;
  /**
   * The same while another tenant has operations; half of `concurrency` by default, at least 1.
   * It does not apply to a tenant whose limit is set in the registry. Operations that have run
   * longer than 250 ms do not count.
   */
  concurrencyBesideOthers: number;
  /** How many more operations wait before the next is refused; 100 times `concurrency` by default. */
  queue: number;
  /** How long an operation waits before it is refused, in milliseconds; 10,000. */
  queueTimeoutMs: number;
}

/**
 * How many requests each process accepts from a tenant.
 *
 * @public
 */
export interface RateLimits {
  /** Sustained requests per second. */
  requestsPerSecond: number;
  /** Requests at once; `requestsPerSecond` by default. */
  burst: number;
}

/**
 * A replica of the database, for reads.
 *
 * @public
 */
export interface ReplicaConfig {
  /** Overrides keys of the connection to the primary. */
  connection: TenancyConnection;
  /** How far the replica may be behind, in milliseconds; 5,000 by default. */
  maxStalenessMs: number;
}

/**
 * The configuration under `tenancy`, read and checked.
 *
 * @public
 */
export interface TenancyConfig {
  /** The flag `MULTI_TENANCY_ENABLED`. */
  enabled: boolean;
  /** The schema of the tables. */
  schema: string;
  /** The keys that verify tokens of tenants; if empty, no token is accepted. */
  jwtSecrets: string[];
  /** Whether a token of one tenant is refused in a request for another. */
  requireMatchingToken: boolean;
  /**
   * In lower case. If any are set, requests to other host names are refused, except those of
   * base URLs and single labels.
   */
  baseDomains: string[];
  /**
   * The ids of plugins without data of tenants, which are open to every tenant. Backstage's own
   * are known and not listed.
   */
  sharedPlugins: string[];
  /** Whether a tenant other than the default one admits members only. */
  membership: 'required' | 'open';
  /** Whom the default tenant admits. */
  membershipOfDefault: 'everyone' | 'members';
  /** Overrides keys of the connection of the catalog's own database. */
  connection: TenancyConnection;
  /** The limits of the one pool that all operations of a process share. */
  pool: TenancyPoolLimits;
  /** Limits of each tenant in that pool. */
  limits: OperationLimits;
  /** Limits of each tenant's requests; unlimited if absent. */
  rateLimits?: RateLimits;
  /**
   * How long a decision on reading the catalog is reused for requests with the same token, in
   * milliseconds. With 0, the permission backend decides on each request.
   */
  maxDecisionAgeMs: number;
  /** What the audit trails of tenants keep. */
  audit: AuditConfig;
  /** If absent, all reads go to the primary. */
  replica?: ReplicaConfig;
}

/** A revoked right must take effect within a minute. */
const MAX_DECISION_AGE_MS = 60_000;
// Covers the requests of one page.
const DEFAULT_DECISION_AGE_MS = 1_000;

/** Of Node.js. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * A tenant gets one of 20 connections. More concurrent heavy statements than PostgreSQL has
 * processors finish no sooner, and slow down other tenants.
 */
const SHARE_OF_POOL = 20;
const LEAST_CONCURRENCY = 2;
/**
 * A page of the portal sends a dozen requests at once, and many users may open one at the same
 * moment. `queueTimeoutMs` bounds the wait behind heavy requests.
 */
const QUEUE_FACTOR = 100;
const QUEUE_TIMEOUT_MS = 10_000;

const CONNECTION = connectionOr(
  configKeys({
    type: oneOf(['default', 'azure', 'cloudsql', 'rds']).optional(),
    host: filledText.optional(),
    port: configInteger(1, 65_535).optional(),
    user: identifier.optional(),
    password: filledText.optional(),
    database: identifier.optional(),
    options: filledText.optional(),
    region: identifier.optional(),
    instance: filledText.optional(),
    ipAddressType: identifier.optional(),
    tokenCredential: z.looseObject({}, 'keys and values').optional(),
    ssl: z
      .union(
        [z.boolean(), z.looseObject({})],
        'true, false, or the options of a TLS connection',
      )
      .optional(),
  }),
);

// By `readAdministrators`, and by the module with the engines.
const elsewhere = z.unknown().optional();

const TENANCY = configKeys({
  enabled: flag.optional(),
  schema: identifier.default('tenancy'),
  jwtSecret: secrets.optional(),
  requireMatchingToken: boolean.default(false),
  baseDomains: domains.default([]),
  plugins: configKeys({
    shared: pluginIds.default([]),
    pool: elsewhere,
    config: elsewhere,
    tenantKeys: elsewhere,
  }).prefault({}),
  membership: oneOf(['required', 'open']).default('required'),
  membershipOfDefault: oneOf(['everyone', 'members']).default('everyone'),
  admins: elsewhere,
  adminsByPermission: elsewhere,
  limits: configKeys({
    concurrency: configInteger(1, 10_000).optional(),
    concurrencyBesideOthers: configInteger(1, 10_000).optional(),
    queue: configInteger(0, 1_000_000).optional(),
    requestsPerSecond: configInteger(1, 1_000_000).optional(),
    burst: configInteger(1, 1_000_000).optional(),
  }).prefault({}),
  permissions: configKeys({
    maxDecisionAgeMs: configInteger(0, MAX_DECISION_AGE_MS).default(
      DEFAULT_DECISION_AGE_MS,
    ),
  }).prefault({}),
  audit: AUDIT,
  database: configKeys({
    connection: CONNECTION.default({}),
    pool: configKeys({
      max: configInteger(1, 10_000).default(100),
      idleTimeoutMs: configInteger(1, LONGEST_TIMER_MS).default(30_000),
      connectionTimeoutMs: configInteger(1, LONGEST_TIMER_MS).default(2_000),
      statementTimeoutMs: configInteger(1, LONGEST_TIMER_MS).default(30_000),
    }).prefault({}),
    replica: configKeys({
      connection: CONNECTION.default({}),
      maxStalenessMs: configInteger(100, 3_600_000).default(5_000),
    }).prefault({}),
  }).prefault({}),
  engines: elsewhere,
  tenants: elsewhere,
} satisfies Record<keyof NonNullable<Schema['tenancy']> | 'engines' | 'tenants', z.ZodType>);

const FLAG_KEY = 'tenancy.enabled';
const FLAG_VARIABLE = 'MULTI_TENANCY_ENABLED';

/**
 * Reads the configuration under `tenancy`. The environment variables `MULTI_TENANCY_ENABLED`
 * and `JWT_SECRET` apply where it lacks their keys.
 *
 * @throws `InputError` for an invalid value or an unknown key; it names the key and the
 * expected form, and shows no secret
 * @public
 */
export function readTenancyConfig(
  config: Config,
  environment: NodeJS.ProcessEnv = process.env,
): TenancyConfig {
  const given = parseConfig(config, 'tenancy', TENANCY);
  const { database, limits } = given;
  if (given.plugins.shared.includes('devtools')) {
    throw new InputError(
      "tenancy.plugins.shared lists devtools, which would show all tenants the portal's configuration. Remove it",
    );
  }
  return {
    enabled: given.enabled ?? isTrue(environment[FLAG_VARIABLE]),
    schema: given.schema,
    // An empty key would let anyone sign tokens.
    jwtSecrets:
      given.jwtSecret ?? [environment.JWT_SECRET ?? ''].filter(Boolean),
    requireMatchingToken: given.requireMatchingToken,
    baseDomains: given.baseDomains,
    sharedPlugins: given.plugins.shared,
    membership: given.membership,
    membershipOfDefault: given.membershipOfDefault,
    connection: database.connection,
    pool: database.pool,
    limits: operationLimits(database.pool, limits),
    rateLimits: rateLimits(limits),
    maxDecisionAgeMs: given.permissions.maxDecisionAgeMs,
    audit: given.audit,
    replica: replica(database.replica),
  };
}

/**
 * A warning for a flag such as `TRUE`, `yes` or `1`, which leaves multi-tenancy off but
 * probably means on; undefined for other values.
 */
export function explainFlag(
  config: Config,
  environment: NodeJS.ProcessEnv = process.env,
): string | undefined {
  const configured = config.getOptional(FLAG_KEY);
  const value = configured ?? environment[FLAG_VARIABLE];
  if (['true', 'false', '', 'undefined'].includes(String(value))) {
    return undefined;
  }
  const name =
    configured === undefined
      ? `The environment variable ${FLAG_VARIABLE}`
      : `The configuration ${FLAG_KEY}, which ${FLAG_VARIABLE} usually sets,`;
  return (
    `${name} is ${JSON.stringify(
      value,
    )}, so that multi-tenancy is off: it is on ` +
    'for "true" alone, in lower case. Expected "true" or "false".'
  );
}

function operationLimits(
  pool: TenancyPoolLimits,
  given: Partial<OperationLimits>,
): OperationLimits {
  const limits = defaultOperationLimits(pool, given);
  const { concurrency, concurrencyBesideOthers } = limits;
  if (concurrencyBesideOthers > concurrency) {
    throw new InputError(
      `The configuration tenancy.limits.concurrencyBesideOthers is ${concurrencyBesideOthers}. Expected no more than tenancy.limits.concurrency, which is ${concurrency}.`,
    );
  }
  return limits;
}

function rateLimits({
  requestsPerSecond,
  burst,
}: Partial<RateLimits>): RateLimits | undefined {
  if (requestsPerSecond !== undefined) {
    return { requestsPerSecond, burst: burst ?? requestsPerSecond };
  }
  if (burst !== undefined) {
    throw new InputError(
      `The configuration tenancy.limits.burst is ${burst}, but tenancy.limits.requestsPerSecond is not set. Set both or neither.`,
    );
  }
  return undefined;
}

/** Fills in what is not configured. */
export function defaultOperationLimits(
  { max }: Pick<TenancyPoolLimits, 'max'>,
  given: Partial<Omit<OperationLimits, 'queueTimeoutMs'>> = {},
): OperationLimits {
  const concurrency =
    given.concurrency ??
    Math.max(LEAST_CONCURRENCY, Math.floor(max / SHARE_OF_POOL));
  return {
    concurrency,
    concurrencyBesideOthers:
      given.concurrencyBesideOthers ?? Math.max(1, Math.floor(concurrency / 2)),
    queue: given.queue ?? QUEUE_FACTOR * concurrency,
    queueTimeoutMs: QUEUE_TIMEOUT_MS,
  };
}

function replica(given: ReplicaConfig): ReplicaConfig | undefined {
  const { connection } = given;
  if (typeof connection === 'string') {
    return given;
  }
  if (Object.keys(connection).length === 0) {
    return undefined;
  }
  const { host, port, database, instance } = connection;
  if ([host, port, database, instance].every(value => value === undefined)) {
    throw new InputError(
      'The configuration tenancy.database.replica.connection leads to the primary. Expected at least ' +
        'one of host, port, database and instance.',
    );
  }
  return given;
}

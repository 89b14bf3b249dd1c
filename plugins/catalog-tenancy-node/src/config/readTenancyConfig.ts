import type { Config } from '@backstage/config';
import { InputError } from '@backstage/errors';
import type { ClientConfig } from 'pg';
import type { Config as Schema } from '../../config';
import { type AuditConfig, readAudit } from './readAudit';
import { type KeysOf, refuseUnknownKeys } from './unknownKeys';
import { readers } from './values';

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

// The longest timer of Node.js.
const MILLISECONDS = { min: 1, max: 2 ** 31 - 1 };

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

const CONNECTION_KEYS = {
  type: true,
  host: true,
  port: true,
  user: true,
  password: true,
  database: true,
  options: true,
  region: true,
  instance: true,
  ipAddressType: true,
  tokenCredential: true,
  ssl: true,
} as const;

/** Keys of the engines module, which checks their content itself. */
interface EngineKeys {
  engines: true;
  plugins: { pool: true; config: true; tenantKeys: true };
  tenants: true;
}

const KNOWN_KEYS = {
  enabled: true,
  schema: true,
  jwtSecret: true,
  requireMatchingToken: true,
  baseDomains: true,
  plugins: { shared: true, pool: true, config: true, tenantKeys: true },
  membership: true,
  membershipOfDefault: true,
  admins: true,
  adminsByPermission: true,
  limits: {
    concurrency: true,
    concurrencyBesideOthers: true,
    queue: true,
    requestsPerSecond: true,
    burst: true,
  },
  permissions: { maxDecisionAgeMs: true },
  audit: {
    keepDays: true,
    minSeverity: true,
    webhook: { url: true, secret: true },
  },
  database: {
    connection: CONNECTION_KEYS,
    pool: {
      max: true,
      idleTimeoutMs: true,
      connectionTimeoutMs: true,
      statementTimeoutMs: true,
    },
    replica: { connection: CONNECTION_KEYS, maxStalenessMs: true },
  },
  engines: true,
  tenants: true,
} satisfies KeysOf<NonNullable<Schema['tenancy']>> & EngineKeys;

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
  refuseUnknownKeys(config.getOptional('tenancy'), 'tenancy', KNOWN_KEYS);
  const read = readers(config);
  const pool = readPool(read);
  return {
    enabled: read.flag(FLAG_KEY, environment[FLAG_VARIABLE]),
    schema: read.name('tenancy.schema') ?? 'tenancy',
    // An empty key would let anyone sign tokens.
    jwtSecrets:
      read.secrets('tenancy.jwtSecret') ??
      [environment.JWT_SECRET ?? ''].filter(Boolean),
    requireMatchingToken: read.boolean('tenancy.requireMatchingToken') ?? false,
    baseDomains: read.domains('tenancy.baseDomains') ?? [],
    sharedPlugins: readSharedPlugins(read),
    membership:
      read.oneOf('tenancy.membership', ['required', 'open']) ?? 'required',
    membershipOfDefault:
      read.oneOf('tenancy.membershipOfDefault', ['everyone', 'members']) ??
      'everyone',
    connection: readConnection(read, 'tenancy.database.connection'),
    pool,
    limits: readLimits(read, pool),
    rateLimits: readRateLimits(read),
    maxDecisionAgeMs: readMaxDecisionAge(read),
    audit: readAudit(read),
    replica: readReplica(read),
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

function readSharedPlugins(read: ReturnType<typeof readers>): string[] {
  read.object('tenancy.plugins');
  const shared = read.pluginIds('tenancy.plugins.shared') ?? [];
  if (shared.includes('devtools')) {
    throw new InputError(
      "tenancy.plugins.shared lists devtools, which would show all tenants the portal's configuration. Remove it",
    );
  }
  return shared;
}

function readConnection(
  read: ReturnType<typeof readers>,
  key: string,
): TenancyConnection {
  const given = read.connection(key);
  if (typeof given === 'string') {
    return given;
  }
  const connection: TenancyConnection = {
    type: read.oneOf(`${key}.type`, ['default', 'azure', 'cloudsql', 'rds']),
    host: read.host(`${key}.host`),
    port: read.integer(`${key}.port`, { min: 1, max: 65_535 }),
    user: read.name(`${key}.user`),
    password: read.secret(`${key}.password`),
    database: read.name(`${key}.database`),
    ssl: read.ssl(`${key}.ssl`),
    options: read.secret(`${key}.options`),
    region: read.name(`${key}.region`),
    instance: read.host(`${key}.instance`),
    ipAddressType: read.name(`${key}.ipAddressType`),
    tokenCredential: read.object(`${key}.tokenCredential`),
  };
  // Undefined values must not override keys of the base connection.
  return Object.fromEntries(
    Object.entries(connection).filter(([, value]) => value !== undefined),
  );
}

function readLimits(
  read: ReturnType<typeof readers>,
  pool: TenancyPoolLimits,
): OperationLimits {
  const key = 'tenancy.limits';
  read.object(key);
  const bounds = { min: 1, max: 10_000 };
  const limits = defaultOperationLimits(pool, {
    concurrency: read.integer(`${key}.concurrency`, bounds),
    concurrencyBesideOthers: read.integer(
      `${key}.concurrencyBesideOthers`,
      bounds,
    ),
    queue: read.integer(`${key}.queue`, { min: 0, max: 1_000_000 }),
  });
  const { concurrency, concurrencyBesideOthers } = limits;
  if (concurrencyBesideOthers > concurrency) {
    throw new InputError(
      `The configuration ${key}.concurrencyBesideOthers is ${concurrencyBesideOthers}. Expected no more than ${key}.concurrency, which is ${concurrency}.`,
    );
  }
  return limits;
}

function readRateLimits(
  read: ReturnType<typeof readers>,
): RateLimits | undefined {
  const key = 'tenancy.limits';
  const bounds = { min: 1, max: 1_000_000 };
  const requestsPerSecond = read.integer(`${key}.requestsPerSecond`, bounds);
  const burst = read.integer(`${key}.burst`, bounds);
  if (requestsPerSecond === undefined) {
    if (burst !== undefined) {
      throw new InputError(
        `The configuration ${key}.burst is ${burst}, but ${key}.requestsPerSecond is not set. Set both or neither.`,
      );
    }
    return undefined;
  }
  return { requestsPerSecond, burst: burst ?? requestsPerSecond };
}

function readMaxDecisionAge(read: ReturnType<typeof readers>): number {
  const key = 'tenancy.permissions';
  read.object(key);
  return (
    read.integer(`${key}.maxDecisionAgeMs`, {
      min: 0,
      max: MAX_DECISION_AGE_MS,
    }) ?? DEFAULT_DECISION_AGE_MS
  );
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

function readPool(read: ReturnType<typeof readers>): TenancyPoolLimits {
  const key = 'tenancy.database.pool';
  read.object(key);
  const ms = MILLISECONDS;
  return {
    max: read.integer(`${key}.max`, { min: 1, max: 10_000 }) ?? 100,
    idleTimeoutMs: read.integer(`${key}.idleTimeoutMs`, ms) ?? 30_000,
    connectionTimeoutMs:
      read.integer(`${key}.connectionTimeoutMs`, ms) ?? 2_000,
    statementTimeoutMs: read.integer(`${key}.statementTimeoutMs`, ms) ?? 30_000,
  };
}

function readReplica(
  read: ReturnType<typeof readers>,
): ReplicaConfig | undefined {
  const key = 'tenancy.database.replica';
  read.object(key);
  const connection = readConnection(read, `${key}.connection`);
  const maxStalenessMs =
    read.integer(`${key}.maxStalenessMs`, { min: 100, max: 3_600_000 }) ??
    5_000;
  if (typeof connection === 'string') {
    return { connection, maxStalenessMs };
  }
  if (Object.keys(connection).length === 0) {
    return undefined;
  }
  const { host, port, database, instance } = connection;
  if ([host, port, database, instance].every(value => value === undefined)) {
    throw new InputError(
      `The configuration ${key}.connection leads to the primary. Expected at least ` +
        'one of host, port, database and instance.',
    );
  }
  return { connection, maxStalenessMs };
}

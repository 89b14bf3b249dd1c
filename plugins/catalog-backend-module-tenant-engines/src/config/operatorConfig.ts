import { type Config, ConfigReader } from '@backstage/config';
import {
  durationToMilliseconds,
  type HumanDuration,
  type JsonObject,
  type JsonValue,
} from '@backstage/types';
import { readDurationFromConfig } from '@backstage/config';
import {
  DEFAULT_TENANT_SLUG,
  type KeysOf,
  refuseUnknownKeys,
} from 'backstage-plugin-catalog-tenancy-node';
import { z } from 'zod';
import { checkInherited } from './inherited';
import type { PluginsConfig } from './pluginConfig';
import { DEFAULT_BOUNDS, type SourceBounds } from '../sources/bounds';
import type { Config as Schema } from '../../config';

const TENANTS = 'tenancy.tenants';
const ENGINES = 'tenancy.engines';
const INSTANCES = 'tenancy.plugins';
const POOL = `${INSTANCES}.pool`;

type Tenancy = Required<NonNullable<Schema['tenancy']>>;

const ENGINES_KEYS = {
  processingInterval: true,
  minProcessingInterval: true,
  secretsDirectory: true,
  inherit: true,
  role: true,
  keepRunning: true,
  leaseSeconds: true,
  allow: true,
  pool: { max: true },
  sources: {
    maxBytes: true,
    maxArchiveBytes: true,
    maxEntities: true,
    maxValues: true,
    maxDepth: true,
    timeout: true,
  },
} satisfies KeysOf<Tenancy['engines']>;

const INSTANCES_POOL_KEYS = { max: true } satisfies KeysOf<
  NonNullable<Tenancy['plugins']['pool']>
>;

const TENANT_KEYS = {
  secrets: true,
  catalog: {
    locations: true,
    providers: true,
    rules: true,
    processingInterval: true,
  },
  integrations: true,
} satisfies KeysOf<Tenancy['tenants'][string]>;

/**
 * How often an engine reads each location again. Providers' schedules, refreshes and
 * events do not wait for it; every due entity wakes an idle engine, though.
 */
const PROCESSING_INTERVAL: HumanDuration = { minutes: 30 };
const MIN_PROCESSING_INTERVAL: HumanDuration = { minutes: 1 };

const LEASE_SECONDS = 15;

const ENGINE_SESSIONS = 20;
const INSTANCE_SESSIONS = 10;

const jsonObject = z.record(z.string(), z.custom<JsonValue>());

/** The sources of a tenant's engine. */
export const engineSourcesSchema = z.strictObject({
  catalog: z
    .strictObject({
      locations: z.array(jsonObject).optional(),
      providers: jsonObject.optional(),
      rules: z.array(jsonObject).optional(),
      processingInterval: z.custom<JsonValue>().optional(),
    })
    .optional(),
  integrations: jsonObject.optional(),
});

export type EngineSources = z.infer<typeof engineSourcesSchema>;

/** The configuration of a tenant in the registry, with the part of its plugins' instances. */
export const tenantConfigSchema = engineSourcesSchema.extend({
  plugins: z.record(z.string(), jsonObject).optional(),
});

const tenantSchema = engineSourcesSchema.extend({
  secrets: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/)).optional(),
});

const tenantsSchema = z.record(z.string().regex(/^[a-z0-9-]+$/), tenantSchema);

const bound = z.number().int().min(1).optional();
const poolSchema = z.object({ max: bound }).optional();

const enginesSchema = z.object({
  processingInterval: z.custom<JsonValue>().optional(),
  minProcessingInterval: z.custom<JsonValue>().optional(),
  secretsDirectory: z.string().min(1).optional(),
  inherit: z.array(z.string()).optional(),
  role: z.enum(['all', 'none']).optional(),
  keepRunning: z.boolean().optional(),
  leaseSeconds: z.number().int().min(5).max(300).optional(),
  allow: z
    .array(
      z.strictObject({
        host: z.string().min(1),
        paths: z.array(z.string()).optional(),
      }),
    )
    .optional(),
  pool: poolSchema,
  sources: z
    .object({
      maxBytes: bound,
      maxArchiveBytes: bound,
      maxEntities: bound,
      maxValues: bound,
      maxDepth: bound,
      timeout: z.custom<JsonValue>().optional(),
    })
    .optional(),
});

const instancesSchema = z.object({
  pool: poolSchema,
  config: z.record(z.string(), jsonObject).optional(),
  tenantKeys: z
    .array(
      z
        .string()
        .regex(
          /^[A-Za-z][\w-]*(\.[A-Za-z][\w-]*)+$/,
          'expected a key such as scaffolder.defaultAuthor',
        ),
    )
    .optional(),
});

/** The operator's settings for the tenants' engines in app-config. */
export interface OperatorConfig {
  /** The engines whose sources are in app-config, by the slug of their tenant. */
  sources: ReadonlyMap<string, EngineSources>;
  /** By slug: the environment variables that a tenant's own configuration may name. */
  variables: ReadonlyMap<string, readonly string[]>;
  /** The folder with a folder of secrets for each tenant. */
  secretsDirectory?: string;
  /** Keys of the backend's configuration that engines and instances have in addition. */
  inherit: readonly string[];
  plugins: PluginsConfig;
  /** The default of engines whose configuration has no interval. */
  processingInterval: JsonValue;
  /** The shortest interval, in milliseconds, that a tenant may configure. */
  minIntervalMs: number;
  /** Hosts that modules of engines may connect to, and sources may not. */
  allow: { host: string; paths?: string[] }[];
  /** How much an engine takes of one source. */
  bounds: SourceBounds;
  /** Whether engines without work run as well. */
  keepRunning: boolean;
  /** The sessions that all engines of a process share, and all instances of one plugin. */
  sessions: { engines: number; instances: number };
  leases: {
    /** Whether this process does background work of tenants. */
    role: 'all' | 'none';
    /** After how long other processes take the tenants of a lost process. */
    leaseMs: number;
  };
}

/**
 * Reads `tenancy.tenants`, `tenancy.engines` and `tenancy.plugins`.
 *
 * @throws Error that names the key, and no value
 */
export function readOperatorConfig(config: Config): OperatorConfig {
  refuseUnknownKeys(config.getOptional(ENGINES), ENGINES, ENGINES_KEYS);
  refuseUnknownKeys(config.getOptional(POOL), POOL, INSTANCES_POOL_KEYS);
  for (const [slug, tenant] of Object.entries(
    config.getOptional<JsonObject>(TENANTS) ?? {},
  )) {
    refuseUnknownKeys(tenant, `${TENANTS}.${slug}`, TENANT_KEYS);
  }
  const tenants = parse(tenantsSchema, config.getOptional(TENANTS), TENANTS);
  const engines = parse(enginesSchema, config.getOptional(ENGINES), ENGINES);
  const plugins = parse(
    instancesSchema,
    config.getOptional(INSTANCES),
    INSTANCES,
  );
  const sources = new Map<string, EngineSources>();
  const variables = new Map<string, readonly string[]>();
  for (const [slug, { secrets, ...tenant }] of Object.entries(tenants)) {
    variables.set(slug, secrets ?? []);
    if (tenant.catalog || tenant.integrations) {
      sources.set(slug, tenant);
    }
  }
  if (sources.has(DEFAULT_TENANT_SLUG)) {
    throw new Error(
      `Invalid ${TENANTS}.${DEFAULT_TENANT_SLUG}: the default tenant is fed by the ` +
        'catalog of the backend; configure it under catalog and integrations',
    );
  }
  const minimum = engines.minProcessingInterval;
  return {
    sources,
    variables,
    secretsDirectory: engines.secretsDirectory,
    inherit: checkInherited(engines.inherit ?? []),
    plugins: {
      config: plugins.config ?? {},
      tenantKeys: plugins.tenantKeys ?? [],
    },
    processingInterval: readInterval(engines.processingInterval),
    minIntervalMs: durationToMilliseconds(
      minimum === undefined
        ? MIN_PROCESSING_INTERVAL
        : readDuration(minimum, `${ENGINES}.minProcessingInterval`),
    ),
    allow: engines.allow ?? [],
    bounds: readBounds(engines.sources),
    keepRunning: engines.keepRunning ?? false,
    sessions: {
      engines: engines.pool?.max ?? ENGINE_SESSIONS,
      instances: plugins.pool?.max ?? INSTANCE_SESSIONS,
    },
    leases: {
      role: engines.role ?? 'all',
      leaseMs: (engines.leaseSeconds ?? LEASE_SECONDS) * 1000,
    },
  };
}

function readBounds({
  timeout,
  ...bounds
}: NonNullable<z.infer<typeof enginesSchema>['sources']> = {}): SourceBounds {
  return {
    ...DEFAULT_BOUNDS,
    ...Object.fromEntries(
      Object.entries(bounds).filter(([, value]) => value !== undefined),
    ),
    ...(timeout !== undefined && {
      timeoutMs: durationToMilliseconds(
        readDuration(timeout, `${ENGINES}.sources.timeout`),
      ),
    }),
  };
}

function readInterval(value: JsonValue | undefined): JsonValue {
  if (value === undefined) {
    return PROCESSING_INTERVAL as JsonObject;
  }
  return readDuration(value, `${ENGINES}.processingInterval`) as JsonObject;
}

/** @throws Error that names the key and the expected form */
export function readDuration(value: JsonValue, key: string): HumanDuration {
  try {
    return readDurationFromConfig(new ConfigReader({ duration: value }), {
      key: 'duration',
    });
  } catch {
    throw new Error(
      `Invalid ${key}: expected a duration such as { minutes: 15 } or '15m'`,
    );
  }
}

function parse<T extends z.ZodType>(
  schema: T,
  value: unknown,
  key: string,
): z.infer<T> {
  const result = schema.safeParse(value ?? {});
  if (!result.success) {
    throw new Error(`Invalid ${describeIssue(result.error, key)}`);
  }
  return result.data;
}

/** The first error: its place and the expected form. Zod names no values. */
export function describeIssue(error: z.ZodError, root?: string): string {
  const [issue] = error.issues;
  const keys = issue.code === 'unrecognized_keys' ? [issue.keys[0]] : [];
  const path = pathOf([...issue.path, ...keys], root);
  return issue.code === 'unrecognized_keys'
    ? `${path}: there is no such property here`
    : `${path}: ${issue.message}`;
}

/** As `catalog.locations[0].target`. */
export function pathOf(steps: readonly PropertyKey[], root = ''): string {
  return steps.reduce<string>((path, step) => {
    if (typeof step === 'number') {
      return `${path}[${step}]`;
    }
    return path ? `${path}.${String(step)}` : String(step);
  }, root);
}

import type { Config } from '@backstage/config';
import {
  durationToMilliseconds,
  type JsonObject,
  type JsonValue,
} from '@backstage/types';
import {
  configDuration,
  configInteger,
  configKeys,
  DEFAULT_TENANT_SLUG,
  isTenantSlug,
  parseConfig,
} from 'backstage-plugin-catalog-tenancy-node';
import { z } from 'zod';
import { checkInherited } from './inherited';
import type { PluginsConfig } from './pluginConfig';
import { DEFAULT_BOUNDS, type SourceBounds } from '../sources/bounds';
import type { Config as Schema } from '../../config';

const TENANTS = 'tenancy.tenants';

type Tenancy = Required<NonNullable<Schema['tenancy']>>;

/**
 * How often an engine reads each location again. Providers' schedules, refreshes and
 * events do not wait for it; every due entity wakes an idle engine, though.
 */
const PROCESSING_INTERVAL = { minutes: 30 };
const MIN_PROCESSING_INTERVAL = { minutes: 1 };

const jsonObject = z.record(
  z.string(),
  z.custom<JsonValue>(),
  'keys and values',
);

const sources = {
  catalog: configKeys({
    locations: z.array(jsonObject, 'a list of locations').optional(),
    providers: jsonObject.optional(),
    rules: z.array(jsonObject, 'a list of rules').optional(),
    processingInterval: z.custom<JsonValue>().optional(),
  }).optional(),
  integrations: jsonObject.optional(),
};

/** The sources of a tenant's engine. */
const engineSourcesSchema = configKeys(sources);

export type EngineSources = z.infer<typeof engineSourcesSchema>;

/** The configuration of a tenant in the registry, with the part of its plugins' instances. */
export const tenantConfigSchema = configKeys({
  ...sources,
  plugins: z.record(z.string(), jsonObject, 'keys and values').optional(),
});

const VARIABLES = 'a list of names of environment variables';

const tenantSchema = configKeys({
  secrets: z
    .array(
      z.string(VARIABLES).regex(/^[A-Za-z_][A-Za-z0-9_]*$/, VARIABLES),
      VARIABLES,
    )
    .optional(),
  ...sources,
} satisfies Record<keyof Tenancy['tenants'][string], z.ZodType>);

const tenantsSchema = z
  .record(z.string(), tenantSchema, 'tenants by their slugs')
  .superRefine((tenants, context) => {
    const wrong = Object.keys(tenants).find(slug => !isTenantSlug(slug));
    if (wrong !== undefined) {
      context.addIssue({
        code: 'custom',
        path: [wrong],
        message: 'a slug of a-z, 0-9 and - as its name',
      });
    }
  });

const enginesSchema = configKeys({
  processingInterval: configDuration().default(PROCESSING_INTERVAL),
  minProcessingInterval: configDuration().default(MIN_PROCESSING_INTERVAL),
  secretsDirectory: z
    .string('the path of a folder')
    .min(1, 'the path of a folder')
    .optional(),
  inherit: z.array(z.string(), 'a list of keys').default([]),
  role: z.enum(['all', 'none'], '"all" or "none"').default('all'),
  keepRunning: z.boolean('true or false').default(false),
  leaseSeconds: configInteger(5, 300).default(15),
  allow: z
    .array(
      configKeys({
        host: z.string('a host').min(1, 'a host'),
        paths: z.array(z.string(), 'a list of paths').optional(),
      }),
      'a list of hosts',
    )
    .default([]),
  pool: configKeys({ max: configInteger(1).default(20) }).prefault({}),
  sources: configKeys({
    maxBytes: configInteger(1).default(DEFAULT_BOUNDS.maxBytes),
    maxArchiveBytes: configInteger(1).default(DEFAULT_BOUNDS.maxArchiveBytes),
    maxEntities: configInteger(1).default(DEFAULT_BOUNDS.maxEntities),
    maxValues: configInteger(1).default(DEFAULT_BOUNDS.maxValues),
    maxDepth: configInteger(1).default(DEFAULT_BOUNDS.maxDepth),
    maxEntityBytes: configInteger(1).default(DEFAULT_BOUNDS.maxEntityBytes),
    timeout: configDuration().default({
      milliseconds: DEFAULT_BOUNDS.timeoutMs,
    }),
  }).prefault({}),
} satisfies Record<keyof Tenancy['engines'], z.ZodType>);

const KEY = 'a list of keys such as scaffolder.defaultAuthor';

const instancesSchema = configKeys({
  // By `readTenancyConfig`.
  shared: z.unknown().optional(),
  pool: configKeys({ max: configInteger(1).default(10) }).prefault({}),
  config: z.record(z.string(), jsonObject, 'keys and values').default({}),
  tenantKeys: z
    .array(z.string(KEY).regex(/^[A-Za-z][\w-]*(\.[A-Za-z][\w-]*)+$/, KEY), KEY)
    .default([]),
} satisfies Record<keyof Tenancy['plugins'] | 'shared', z.ZodType>);

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
 * @throws Error that names the key, and no secret
 */
export function readOperatorConfig(config: Config): OperatorConfig {
  const tenants = parseConfig(config, TENANTS, tenantsSchema);
  const engines = parseConfig(config, 'tenancy.engines', enginesSchema);
  const plugins = parseConfig(config, 'tenancy.plugins', instancesSchema);
  const configured = new Map<string, EngineSources>();
  const variables = new Map<string, readonly string[]>();
  for (const [slug, { secrets, ...tenant }] of Object.entries(tenants)) {
    variables.set(slug, secrets ?? []);
    if (tenant.catalog || tenant.integrations) {
      configured.set(slug, tenant);
    }
  }
  if (configured.has(DEFAULT_TENANT_SLUG)) {
    throw new Error(
      `Invalid ${TENANTS}.${DEFAULT_TENANT_SLUG}: the default tenant is fed by the ` +
        'catalog of the backend; configure it under catalog and integrations',
    );
  }
  const { timeout, ...bounds } = engines.sources;
  return {
    sources: configured,
    variables,
    secretsDirectory: engines.secretsDirectory,
    inherit: checkInherited(engines.inherit),
    plugins: { config: plugins.config, tenantKeys: plugins.tenantKeys },
    processingInterval: engines.processingInterval as JsonObject,
    minIntervalMs: durationToMilliseconds(engines.minProcessingInterval),
    allow: engines.allow,
    bounds: { ...bounds, timeoutMs: durationToMilliseconds(timeout) },
    keepRunning: engines.keepRunning,
    sessions: { engines: engines.pool.max, instances: plugins.pool.max },
    leases: { role: engines.role, leaseMs: engines.leaseSeconds * 1000 },
  };
}

/** The first error: its place and the expected form. Zod names no values. */
export function describeIssue(error: z.ZodError): string {
  const [issue] = error.issues;
  return issue.code === 'unrecognized_keys'
    ? `${pathOf([
        ...issue.path,
        issue.keys[0],
      ])}: there is no such property here`
    : `${pathOf(issue.path)}: expected ${issue.message}`;
}

/** As `catalog.locations[0].target`. */
export function pathOf(steps: readonly PropertyKey[]): string {
  return steps.reduce<string>((path, step) => {
    if (typeof step === 'number') {
      return `${path}[${step}]`;
    }
    return path ? `${path}.${String(step)}` : String(step);
  }, '');
}

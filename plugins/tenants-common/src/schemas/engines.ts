import type { JsonObject } from '@backstage/types';
import { z } from 'zod';
import { count, slug, time } from './fields';

/** The states of a tenant's engine. */
export const ENGINE_STATES = [
  'catalog_plugin',
  'paused',
  'unassigned',
  'stopped',
  'starting',
  'running',
  'failed',
  'unknown',
] as const;

const configuredBy = z.enum(['operator', 'registry']).nullable();

// Passed on as it is: the engines know what may be in it.
const section = z
  .custom<JsonObject>(
    value =>
      typeof value === 'object' && value !== null && !Array.isArray(value),
    { error: 'an object' },
  )
  .meta({ type: 'object' });

/**
 * The body of `PUT /api/tenants/:slug/catalog-config`, with the defaults filled in. What is in its
 * sections is for `TenantEngines.validateConfig`.
 *
 * @public
 */
export const catalogConfigSchema = z.strictObject(
  {
    /** As `catalog` of app-config: locations, providers and rules. */
    catalog: section.default(() => ({})),
    /** As `integrations` of app-config. */
    integrations: section.default(() => ({})),
    /** By plugin, as below its key of app-config: what the operator lets tenants configure. */
    plugins: section.optional(),
  },
  { error: 'an object with catalog, integrations and plugins' },
);

/**
 * The configuration of a tenant's engine: what app-config has under these keys, with
 * references in place of secrets.
 *
 * @public
 */
export type CatalogConfig = z.input<typeof catalogConfigSchema>;

/** The configuration of a tenant's engine. @public */
export const tenantCatalogConfigSchema = z.object({
  /** As `catalog` of app-config: locations, providers and rules. */
  catalog: section.optional(),
  /** As `integrations` of app-config. */
  integrations: section.optional(),
  /** What instances of plugins have, by plugin. */
  plugins: section.optional(),
  /**
   * Who configures the engine: the operator in app-config, or the registry has its
   * configuration; null if nothing is configured.
   */
  configured_by: configuredBy,
  /** ISO 8601, UTC; null if it was never written */
  updated_at: time.nullable(),
  /** The user or service that wrote it last. */
  updated_by: z.string().nullable(),
});

/**
 * The configuration of a tenant's engine, as the API shows it. It has no content where the
 * operator configures the engine in app-config.
 *
 * @public
 */
export type TenantCatalogConfig = z.infer<typeof tenantCatalogConfigSchema>;

const sourceError = z.object({
  /** The target of the location, such as a URL, as it was configured or registered. */
  location: z.string().meta({ example: 'https://example.com/a.yaml' }),
  /** What has the error: an entity of the location, or the location itself. */
  entity_ref: z.string().meta({ example: 'component:default/a' }),
  /** What the catalog says. */
  message: z.string(),
  /** When the catalog tries again; ISO 8601, UTC. A refresh of the entity does so at once. */
  next_try_at: time,
});

/** How a tenant is fed. @public */
export const tenantStatusSchema = z.object({
  /** The tenant. */
  tenant_slug: slug,
  /**
   * - `catalog_plugin`: the catalog plugin of the backend feeds it; the default tenant's
   * - `paused`: its engine is paused
   * - `unassigned`: no live process does the background work of its engine
   * - in the process that does its background work, `stopped`: it does not run; `starting`: its
   *   tables and its modules are being made ready; `running`: it ingests, and answers requests, or
   *   sleeps until something is due; `failed`: it could not start, or lost its tables, and is tried
   *   again later
   * - `unknown`: the backend that answers has no engines
   */
  state: z.enum(ENGINE_STATES),
  /** Why the engine failed, while it has. */
  reason: z.string().nullable(),
  /** Since when the engine is paused; ISO 8601, UTC, as all times here */
  paused_at: time.nullable(),
  /** The user or service that paused it. */
  paused_by: z.string().nullable(),
  /** Entities that are served. */
  entities: count,
  /** Rows of the engine that could not be carried to the entities of the tenant. */
  faults: count.nullable(),
  /** For how long the oldest item of the engine is due; 0 where nothing is. */
  lag_seconds: count.nullable(),
  /** Since when that item is due; null where nothing is. */
  oldest_due_at: time.nullable(),
  /** What is wrong with locations and their entities, 20 at most; null without an engine. */
  source_errors: z.array(sourceError).nullable(),
  /** How many there are; null where counting them takes too long. */
  source_error_count: count.nullable(),
  /** Why the engine failed last, also where it has started since. */
  last_error: z.string().nullable(),
  /** When that was. */
  last_error_at: time.nullable(),
  /** When the engine last had nothing left that was due. */
  last_full_run_at: time.nullable(),
  /** The process that does the background work: its host and process id. */
  process: z.string().nullable(),
  /** When another process may take over, unless this one renews its lease. */
  lease_expires_at: time.nullable(),
  /**
   * The version of `@backstage/plugin-catalog-backend` that engines run with in the process that
   * answers; null where it has none.
   */
  catalog_version: z.string().nullable().meta({ example: '4.0.5' }),
});

/**
 * How a tenant is fed, as the API shows it. Every process of a deployment answers the same.
 *
 * @public
 */
export type TenantStatus = z.infer<typeof tenantStatusSchema>;

/** Why a location could not be read, or an entity of it is not valid. @public */
export type SourceError = NonNullable<TenantStatus['source_errors']>[number];

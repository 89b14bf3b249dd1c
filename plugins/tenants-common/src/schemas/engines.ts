import type { JsonObject } from '@backstage/types';
import { z } from 'zod';
import type {
  CatalogConfig,
  SourceError,
  TenantCatalogConfig,
  TenantEngine,
  TenantStatus,
} from '../types';
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
export const catalogConfigSchema: z.ZodType<Required<CatalogConfig>> =
  z.strictObject(
    {
      catalog: section.default(() => ({})),
      integrations: section.default(() => ({})),
    },
    { error: 'an object with catalog and integrations' },
  );

/**
 * The configuration of a tenant's engine.
 *
 * @public
 */
export const tenantCatalogConfigSchema: z.ZodType<TenantCatalogConfig> =
  z.object({
    catalog: section.optional(),
    integrations: section.optional(),
    configured_by: configuredBy,
    updated_at: time.nullable(),
    updated_by: z.string().nullable(),
  });

/**
 * The catalog engine that feeds a tenant.
 *
 * @public
 */
export const tenantEngineSchema: z.ZodType<TenantEngine> = z.object({
  tenant_slug: slug,
  state: z.enum(['stopped', 'starting', 'running', 'failed']),
  reason: z.string().optional(),
  next_attempt_at: time.optional(),
  configured_by: configuredBy,
  paused_at: time.optional(),
  paused_by: z.string().optional(),
});

const sourceError: z.ZodType<SourceError> = z.object({
  location: z.string().meta({ example: 'https://example.com/a.yaml' }),
  entity_ref: z.string().meta({ example: 'component:default/a' }),
  message: z.string(),
  next_try_at: time,
});

/**
 * How a tenant is fed.
 *
 * @public
 */
export const tenantStatusSchema: z.ZodType<TenantStatus> = z.object({
  tenant_slug: slug,
  state: z.enum(ENGINE_STATES),
  reason: z.string().nullable(),
  paused_at: time.nullable(),
  paused_by: z.string().nullable(),
  entities: count,
  faults: count.nullable(),
  lag_seconds: count.nullable(),
  oldest_due_at: time.nullable(),
  source_errors: z.array(sourceError).nullable(),
  source_error_count: count.nullable(),
  last_error: z.string().nullable(),
  last_error_at: time.nullable(),
  last_full_run_at: time.nullable(),
  process: z.string().nullable(),
  lease_expires_at: time.nullable(),
  catalog_version: z.string().nullable().meta({ example: '4.0.5' }),
});

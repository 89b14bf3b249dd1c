import type { JsonObject } from '@backstage/types';
import type { CatalogConfig } from 'backstage-plugin-tenants-common';
import { z } from 'zod';
import { parseInput } from '../tenants/input';

// Passed on as it is: the engines know what may be in it.
const section = z
  .custom<JsonObject>(
    value =>
      typeof value === 'object' && value !== null && !Array.isArray(value),
    { error: 'an object' },
  )
  .default(() => ({}));

const catalogConfigSchema: z.ZodType<CatalogConfig> = z.strictObject(
  { catalog: section, integrations: section },
  { error: 'an object with catalog and integrations' },
);

/**
 * Parses the form of the configuration of a tenant's engine. What is in its sections is for
 * `TenantEngines.validateConfig`.
 *
 * @throws InputError that names each bad value and the form that was expected
 * @public
 */
export function parseCatalogConfig(input: unknown): Required<CatalogConfig> {
  const { catalog = {}, integrations = {} } = parseInput(
    catalogConfigSchema,
    input,
    'catalog-config',
  );
  return { catalog, integrations };
}

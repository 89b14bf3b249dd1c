/**
 * A catalog engine for each tenant.
 *
 * @packageDocumentation
 */

import {
  type BackendFeature,
  coreServices,
  createBackendFeatureLoader,
} from '@backstage/backend-plugin-api';
import { readTenancyConfig } from 'backstage-plugin-catalog-tenancy-node';
import type { EngineFeature } from './engine/TenantEngine';
import {
  catalogModuleTenantEngines,
  enginesServiceFactory,
  tenantEnginesServiceFactory,
} from './module';

export type { EngineFeature };

/**
 * What the engines are made of.
 *
 * @public
 */
export interface TenantEnginesOptions {
  /**
   * The modules of the plugin `catalog` that each engine shall have, such as
   * `import('@backstage/plugin-catalog-backend-module-github')`. The modules that are added
   * to the backend itself serve the default tenant alone.
   */
  features?: EngineFeature[];
}

/**
 * Gives tenants catalog engines: an unmodified catalog plugin for each, in a schema of the
 * catalog's database. While the flag is off it does nothing.
 *
 * ```ts
 * backend.add(
 *   tenantEngines({
 *     features: [import('@backstage/plugin-catalog-backend-module-github')],
 *   }),
 * );
 * ```
 *
 * @public
 */
export function tenantEngines(
  options: TenantEnginesOptions = {},
): BackendFeature {
  return createBackendFeatureLoader({
    deps: { config: coreServices.rootConfig },
    loader: ({ config }) =>
      readTenancyConfig(config).enabled
        ? [
            enginesServiceFactory,
            tenantEnginesServiceFactory,
            catalogModuleTenantEngines(options.features ?? []),
          ]
        : [],
  });
}

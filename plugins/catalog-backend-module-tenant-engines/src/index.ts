/**
 * A catalog engine for each tenant, and an instance of other plugins.
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
import {
  featuresOf,
  type InstanceFeatures,
  onePerTenant,
} from './plugins/onePerTenant';

import { TenantEvents } from './plugins/TenantEvents';

export { doctorExamination } from './doctor/doctorExamination';
export { tenantSignIn } from './signIn/module';
export { makeTenantTables } from './tables/makeTenantTables';
export type { EngineFeature, InstanceFeatures };

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

  /**
   * The names of sources from which code of this backend hands entities to engines, by
   * `applyMutation` of `tenantEnginesServiceRef`. Each is an entity provider of each engine.
   * The entities of a source that is no longer named go as those of any removed provider.
   */
  sources?: string[];

  /**
   * Other plugins of which each tenant gets an instance, by their ids: the plugin and its
   * modules. The plugin that is added to the backend itself serves the default tenant alone.
   * Those that were not tried with tenants need a word of yours, {@link InstanceFeatures}.
   * `'default'` takes a plugin that was tried, and the modules that were, from the dependencies of
   * the backend; in place of the list, all such plugins.
   *
   * ```ts
   * onePerTenant: {
   *   search: [
   *     import('@backstage/plugin-search-backend'),
   *     import('@backstage/plugin-search-backend-module-pg'),
   *     import('@backstage/plugin-search-backend-module-catalog'),
   *   ],
   *   techdocs: 'default',
   * },
   * ```
   */
  onePerTenant?: 'default' | Record<string, InstanceFeatures | 'default'>;
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
    loader({ config }) {
      if (!readTenancyConfig(config).enabled) {
        return [];
      }
      const events = new TenantEvents();
      return [
        enginesServiceFactory,
        tenantEnginesServiceFactory,
        catalogModuleTenantEngines(
          options.features ?? [],
          undefined,
          options.sources,
          events,
        ),
        ...onePerTenant(
          featuresOf(options.onePerTenant ?? {}),
          undefined,
          events,
        ),
      ];
    },
  });
}

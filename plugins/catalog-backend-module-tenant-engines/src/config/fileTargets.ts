import {
  type BackendFeature,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import {
  type CatalogProcessor,
  catalogProcessingExtensionPoint,
  processingResult,
} from '@backstage/plugin-catalog-node';

/**
 * A module of a tenant's catalog that refuses locations of type `file`, except for these
 * targets.
 *
 * The catalog itself keeps a file from being registered, but not from being named by
 * an entity: `POST /validate-entity` takes an entity's own word, in
 * `backstage.io/managed-by-location`, for being read from a file, and what stands in
 * a file may name others.
 */
export function fileTargetsModule(
  allowed: ReadonlySet<string>,
): BackendFeature {
  const processor: CatalogProcessor = {
    getProcessorName: () => 'TenantFileTargets',
    // Before the catalog's own reader of files, whose priority is 20: the first
    // processor that says it has read a location is the last that is asked.
    getPriority: () => Number.MIN_SAFE_INTEGER,
    async readLocation(location, _optional, emit) {
      // The very text: a path that only normalizes to an allowed one may lead
      // elsewhere, through a link.
      if (location.type !== 'file' || allowed.has(location.target)) {
        return false;
      }
      emit(
        processingResult.inputError(
          location,
          `The file ${location.target} is not among those that the operator has ` +
            'configured for this tenant',
        ),
      );
      return true;
    },
  };
  return createBackendModule({
    pluginId: 'catalog',
    moduleId: 'tenant-file-targets',
    register(env) {
      env.registerInit({
        deps: { processing: catalogProcessingExtensionPoint },
        async init({ processing }) {
          processing.addProcessor(processor);
        },
      });
    },
  });
}

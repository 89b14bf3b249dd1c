import {
  type BackendFeature,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import {
  ANNOTATION_LOCATION,
  ANNOTATION_SOURCE_LOCATION,
  type Entity,
  stringifyLocationRef,
} from '@backstage/catalog-model';
import { InputError } from '@backstage/errors';
import {
  type CatalogProcessor,
  catalogProcessingExtensionPoint,
  processingResult,
} from '@backstage/plugin-catalog-node';
import { resolve } from 'node:path';

/** For an entity whose source is a file, TechDocs and the scaffolder read files of the server. */
const SOURCES = [ANNOTATION_LOCATION, ANNOTATION_SOURCE_LOCATION];

const FIRST_WILDCARD = /[*?[{(!+@].*$/;

/**
 * A module of a tenant's catalog that refuses locations of type `file`, except for these
 * targets, and entities that claim to come from another file.
 *
 * The catalog itself refuses to register a file, but an entity may still name one: `POST
 * /validate-entity` believes the entity's own `backstage.io/managed-by-location`, and a file
 * may name other files.
 */
export function fileTargetsModule(
  allowed: ReadonlySet<string>,
): BackendFeature {
  const reader: CatalogProcessor = {
    getProcessorName: () => 'TenantFileTargets',
    // Before the catalog's own reader of files, whose priority is 20: the first
    // processor that says it has read a location is the last that is asked.
    getPriority: () => Number.MIN_SAFE_INTEGER,
    async readLocation(location, _optional, emit) {
      // The exact text: a path that normalizes to an allowed one may lead elsewhere through a
      // link.
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
  const sources: CatalogProcessor = {
    getProcessorName: () => 'TenantFileSources',
    // After placeholders, which may bring an annotation.
    getPriority: () => Number.MAX_SAFE_INTEGER,
    // The catalog lets an entity override its location.
    async preProcessEntity(entity, location) {
      const claimed = fileSourcesOf(entity).find(
        source =>
          source !== stringifyLocationRef(location) ||
          !isWithin(location.target, allowed),
      );
      if (claimed !== undefined) {
        throw new InputError(
          `The annotation says that the entity comes from ${claimed}, which it was not read from: remove it`,
        );
      }
      return entity;
    },
  };
  return createBackendModule({
    pluginId: 'catalog',
    moduleId: 'tenant-file-targets',
    register(env) {
      env.registerInit({
        deps: { processing: catalogProcessingExtensionPoint },
        async init({ processing }) {
          processing.addProcessor(reader, sources);
        },
      });
    },
  });
}

/** A target may be a pattern, and the location one of the files that it found. */
function isWithin(file: string, targets: ReadonlySet<string>): boolean {
  return [...targets].some(target =>
    resolve(file).startsWith(target.replace(FIRST_WILDCARD, '')),
  );
}

function fileSourcesOf({ metadata }: Entity): string[] {
  return SOURCES.map(name => metadata.annotations?.[name]).filter(
    (source): source is string => /^\s*file:/i.test(source ?? ''),
  );
}

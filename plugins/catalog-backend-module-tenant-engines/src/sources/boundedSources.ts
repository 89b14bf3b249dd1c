import {
  coreServices,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import {
  CATALOG_ERRORS_TOPIC,
  UrlReaderProcessor,
} from '@backstage/plugin-catalog-backend';
import { ScmIntegrations } from '@backstage/integration';
import {
  type CatalogProcessor,
  type CatalogProcessorParser,
  catalogProcessingExtensionPoint,
  processingResult,
} from '@backstage/plugin-catalog-node';
import { catalogModelExtensionPoint } from '@backstage/plugin-catalog-node/alpha';
import { eventsServiceRef } from '@backstage/plugin-events-node';
import {
  type Entity,
  stringifyEntityRef,
  stringifyLocationRef,
} from '@backstage/catalog-model';
import type { EventLoopWatch } from 'backstage-plugin-catalog-tenancy-node';
import { setImmediate } from 'node:timers/promises';
import { BackgroundWork } from '../work/BackgroundWork';
import { refuseFalseCopy } from '../shares/copies';
import { BoundedLocations } from './BoundedLocations';
import { refuseLarge, type SourceBounds, tooMuch, withinSize } from './bounds';
import { takeFromDryRun } from './dryRuns';
import { createPlaceholders } from './placeholders';
import type { ReadsUnderWay } from './ReadsUnderWay';
import type { Brought } from './refuseGrowth';
import type { SourceParser } from './SourceParser';

/**
 * Runs before each entity. It yields to the event loop, because a dry run would process all of
 * its entities in one chain of promises.
 */
function createEntityBegins({
  tenantSlug,
  watch,
}: Parameters<typeof boundedSources>[0]): CatalogProcessor {
  return {
    getProcessorName: () => 'TenantEntityBegins',
    async preProcessEntity(entity, location) {
      await setImmediate();
      watch.note(tenantSlug, stringifyEntityRef(entity));
      refuseFalseCopy(entity, location);
      return entity;
    },
  };
}

/** Refuses entities that are too large with what placeholders and modules have added. */
function createSizeCheck({
  bounds,
}: Parameters<typeof boundedSources>[0]): CatalogProcessor {
  return {
    getProcessorName: () => 'TenantEntitySize',
    // Before the others: an entity without its content lacks what they demand.
    getPriority: () => 0,
    async validateEntityKind(entity) {
      refuseLarge(entity, bounds);
      return false;
    },
  };
}

/**
 * Records the begin and the end of the read of each location. Not for requests that try out or
 * validate: the engine does not repeat those.
 */
function createNotes({
  tenantId,
  reads,
}: Parameters<typeof boundedSources>[0]): CatalogProcessor[] {
  const isNoted = (entity: Entity) =>
    entity.kind === 'Location' && BackgroundWork.current() !== undefined;
  return [
    {
      getProcessorName: () => 'TenantSourceBegins',
      // The last step before the read, so no other step can fail in between.
      getPriority: () => Number.MAX_SAFE_INTEGER,
      async validateEntityKind(entity) {
        if (isNoted(entity)) {
          BackgroundWork.current()?.check();
          await reads.begin(tenantId, stringifyEntityRef(entity));
        }
        return false;
      },
    },
    {
      getProcessorName: () => 'TenantSourceEnds',
      getPriority: () => Number.MIN_SAFE_INTEGER,
      async postProcessEntity(entity) {
        if (isNoted(entity)) {
          reads.end(tenantId, stringifyEntityRef(entity));
        }
        return entity;
      },
    },
  ];
}

/** A module of a tenant's catalog that parses sources within bounds, in a thread. */
export function boundedSources(options: {
  tenantId: string;
  tenantSlug: string;
  parser: SourceParser;
  bounds: SourceBounds;
  reads: Pick<ReadsUnderWay, 'begin' | 'end'>;
  refuseGrowth: (brought: Brought) => Promise<void>;
  /** Called for each processed entity. */
  watch: Pick<EventLoopWatch, 'note'>;
}) {
  return createBackendModule({
    pluginId: 'catalog',
    moduleId: 'tenant-bounded-sources',
    register(env) {
      env.registerInit({
        deps: {
          config: coreServices.rootConfig,
          events: eventsServiceRef,
          logger: coreServices.logger,
          model: catalogModelExtensionPoint,
          processing: catalogProcessingExtensionPoint,
          reader: coreServices.urlReader,
        },
        async init({ config, events, logger, model, processing, reader }) {
          model.setEntityDataParser(createParser(options));
          Object.entries(createPlaceholders(options)).forEach(
            ([key, resolver]) =>
              processing.addPlaceholderResolver(key, resolver),
          );
          processing.addProcessor(
            createEntityBegins(options),
            createSizeCheck(options),
            ...createNotes(options),
            new BoundedLocations({
              bounds: options.bounds,
              integrations: ScmIntegrations.fromConfig(config),
              reader: new UrlReaderProcessor({ logger, reader }),
              refuseGrowth: options.refuseGrowth,
            }),
          );
          // The processing ends with an error before its last step where a reader throws.
          await events.subscribe({
            id: 'tenant-bounded-sources',
            topics: [CATALOG_ERRORS_TOPIC],
            async onEvent({ eventPayload }) {
              const { entity } = eventPayload as { entity: string };
              if (entity.startsWith('location:')) {
                options.reads.end(options.tenantId, entity);
              }
            },
          });
        },
      });
    },
  });
}

/** As in Backstage's parser, null is skipped, and any other value than an object is an error. */
function createParser({
  tenantId,
  tenantSlug,
  parser,
  bounds,
  watch,
}: Parameters<typeof boundedSources>[0]): CatalogProcessorParser {
  return async function* parse({ data, location }) {
    watch.note(tenantSlug, stringifyLocationRef(location));
    const documents = await parser.parse(tenantId, data.toString('utf8'));
    if (!takeFromDryRun(documents.length)) {
      throw tooMuch('maxEntities', bounds);
    }
    for (const document of documents) {
      if ('error' in document) {
        yield processingResult.generalError(
          location,
          `YAML error at ${stringifyLocationRef(location)}, ${document.error}`,
        );
        continue;
      }
      const value = JSON.parse(document.json);
      if (
        typeof value === 'object' &&
        value !== null &&
        !Array.isArray(value)
      ) {
        const entity = withinSize(value, document.json, bounds);
        yield processingResult.entity(location, entity);
        if (entity !== value) {
          // Of a file with other results than entities, Backstage keeps none: the file is parsed
          // again, also unchanged, after the bound was raised.
          yield processingResult.refresh(stringifyLocationRef(location));
        }
      } else if (value !== null) {
        yield processingResult.generalError(
          location,
          `Expected object at root, got ${typeof value}`,
        );
      }
      // Yields to the event loop between two documents.
      await setImmediate();
    }
  };
}

import { createBackendModule } from '@backstage/backend-plugin-api';
import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import {
  type CatalogProcessor,
  catalogLocationsExtensionPoint,
  catalogProcessingExtensionPoint,
  processingResult,
} from '@backstage/plugin-catalog-node';
import { FAILS, type GeneratedCatalog } from './generatedEntities';

const PROVIDER = 'generated-entities';

/** Where the engine of the stock catalog gets a generated catalog from. */
export class GeneratedSource {
  readonly #catalog: GeneratedCatalog;
  #isSecondTime = false;

  constructor(catalog: GeneratedCatalog) {
    this.#catalog = catalog;
  }

  /** All entities, each once. */
  get entities(): Entity[] {
    const { provided, emitted } = this.#catalog;
    return [...new Set([...provided, ...[...emitted.values()].flat()])];
  }

  /** The refs of all locations. */
  get locations(): string[] {
    return this.entities
      .filter(entity => entity.kind === 'Location')
      .map(stringifyEntityRef);
  }

  /** The refs of what fails from the second time on. */
  get failing(): string[] {
    return this.entities
      .filter(entity => entity.metadata.annotations?.[FAILS] !== undefined)
      .map(stringifyEntityRef);
  }

  /** The refs of what its locations have no more the second time. */
  get orphans(): string[] {
    return [...this.#catalog.orphans].map(stringifyEntityRef);
  }

  /** From now on it is the second time. */
  change(): void {
    this.#isSecondTime = true;
  }

  feature() {
    const { provided } = this.#catalog;
    const processor = this.#processor();
    return createBackendModule({
      pluginId: 'catalog',
      moduleId: PROVIDER,
      register(env) {
        env.registerInit({
          deps: {
            locations: catalogLocationsExtensionPoint,
            processing: catalogProcessingExtensionPoint,
          },
          async init({ locations, processing }) {
            locations.setAllowedLocationTypes(['generated', 'url']);
            processing.addProcessor(processor);
            processing.addEntityProvider({
              getProviderName: () => PROVIDER,
              connect: connection =>
                connection.applyMutation({
                  type: 'full',
                  entities: provided.map(entity => ({
                    entity,
                    locationKey: PROVIDER,
                  })),
                }),
            });
          },
        });
      },
    });
  }

  #processor(): CatalogProcessor {
    const { emitted, orphans } = this.#catalog;
    return {
      getProcessorName: () => PROVIDER,
      validateEntityKind: async entity => entity.kind === 'Template',
      readLocation: async ({ type, target }, _optional, emit) => {
        if (type !== 'generated') {
          return false;
        }
        for (const entity of emitted.get(target) ?? []) {
          if (!this.#isSecondTime || !orphans.has(entity)) {
            // The same place for all, so that several locations may have an entity.
            const location = { type: 'generated', target: 'shared' };
            emit(processingResult.entity(location, entity));
          }
        }
        return true;
      },
      preProcessEntity: async entity => {
        if (this.#isSecondTime && entity.metadata.annotations?.[FAILS]) {
          throw new TypeError('It fails: "ΣΊΣΥΦΟΣ"');
        }
        return entity;
      },
    };
  }
}

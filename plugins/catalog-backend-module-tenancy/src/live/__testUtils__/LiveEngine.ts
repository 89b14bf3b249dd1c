import {
  coreServices,
  createBackendModule,
  type SchedulerService,
} from '@backstage/backend-plugin-api';
import type { Entity } from '@backstage/catalog-model';
import {
  catalogLocationsExtensionPoint,
  catalogProcessingExtensionPoint,
  type EntityProviderConnection,
  type EntityProviderMutation,
} from '@backstage/plugin-catalog-node';

/** Entity providers hand over all that they have, or what has changed. */
export const PROVIDERS = ['whole', 'parts'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** Input of a backend's engine beside its API. */
export class LiveEngine {
  private readonly connections = new Map<
    ProviderName,
    EntityProviderConnection
  >();
  private scheduler?: SchedulerService;

  readonly feature = this.module();

  apply(
    provider: ProviderName,
    mutation: EntityProviderMutation,
  ): Promise<void> {
    return this.connections.get(provider)!.applyMutation(mutation);
  }

  /** What the engine does twice a minute: deletes what no source names any more. */
  async deleteOrphans(): Promise<void> {
    await this.scheduler!.triggerTask('catalog_orphan_cleanup');
  }

  private module() {
    const connect = (
      name: ProviderName,
      connection: EntityProviderConnection,
    ) => {
      this.connections.set(name, connection);
    };
    const keep = (scheduler: SchedulerService) => {
      this.scheduler = scheduler;
    };
    return createBackendModule({
      pluginId: 'catalog',
      moduleId: 'live-sources',
      register(env) {
        env.registerInit({
          deps: {
            processing: catalogProcessingExtensionPoint,
            locations: catalogLocationsExtensionPoint,
            scheduler: coreServices.scheduler,
          },
          async init({ processing, locations, scheduler }) {
            keep(scheduler);
            locations.setAllowedLocationTypes(['file', 'url']);
            for (const name of PROVIDERS) {
              processing.addEntityProvider({
                getProviderName: () => name,
                connect: async connection => connect(name, connection),
              });
            }
          },
        });
      },
    });
  }
}

/** As providers hand entities over, who have to say where they come from. */
export function deferred(entity: Entity, locationKey: string) {
  const location = `url:https://example.com/${locationKey}`;
  return {
    locationKey,
    entity: {
      ...entity,
      metadata: {
        ...entity.metadata,
        annotations: {
          ...entity.metadata.annotations,
          'backstage.io/managed-by-location': location,
          'backstage.io/managed-by-origin-location': location,
        },
      },
    },
  };
}

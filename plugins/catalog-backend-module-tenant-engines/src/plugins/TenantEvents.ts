import {
  type BackendFeature,
  coreServices,
  createServiceFactory,
} from '@backstage/backend-plugin-api';
import {
  DefaultEventsService,
  type EventsService,
  eventsServiceRef,
} from '@backstage/plugin-events-node';
import { decorateKnown } from '../engine/decorate';

/** The plugin whose instances publish webhooks. */
const WEBHOOKS = 'events';

/**
 * Passes the events of an instance to the catalog engine and the other instances of its tenant
 * in this process: the signal of a notification to the instance with the connected pages, a
 * webhook to the providers of the engine.
 */
export class TenantEvents {
  /** Starts the engine of a tenant in this process, for a webhook. */
  startEngine: (tenantId: string) => Promise<void> = async () => undefined;
  /** Notifies that a webhook may have made work for the engine of a tenant. */
  notifyWork: (tenantId: string) => void = () => undefined;
  readonly #instances = new Map<string, Set<EventsService>>();

  /** The events of one instance until it ends, which its start may never do by itself. */
  featureOf(tenantId: string, ended: AbortSignal): BackendFeature {
    return createServiceFactory({
      service: eventsServiceRef,
      deps: {
        logger: coreServices.logger,
        plugin: coreServices.pluginMetadata,
      },
      factory: ({ logger, plugin }) => {
        const own = DefaultEventsService.create({
          logger,
          useEventBus: 'never',
        });
        if (!ended.aborted) {
          ended.addEventListener('abort', this.#join(tenantId, own));
        }
        return decorateKnown<EventsService>('events', own, {
          publish: async params => {
            const isWebhook = plugin.getId() === WEBHOOKS;
            if (isWebhook) {
              await this.startEngine(tenantId);
            }
            await Promise.all(
              [...(this.#instances.get(tenantId) ?? [])].map(each =>
                each.publish(params),
              ),
            );
            if (isWebhook) {
              this.notifyWork(tenantId);
            }
          },
          subscribe: options =>
            own.subscribe({
              ...options,
              id: `${plugin.getId()}.${options.id}`,
            }),
        });
      },
    });
  }

  /** @returns a function that ends it */
  #join(tenantId: string, events: EventsService): () => void {
    const others = this.#instances.get(tenantId) ?? new Set();
    this.#instances.set(tenantId, others.add(events));
    return () => {
      others.delete(events);
      if (others.size === 0 && this.#instances.get(tenantId) === others) {
        this.#instances.delete(tenantId);
      }
    };
  }
}

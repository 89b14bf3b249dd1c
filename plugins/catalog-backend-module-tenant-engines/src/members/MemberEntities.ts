import {
  type BackendFeature,
  createBackendModule,
  type LoggerService,
} from '@backstage/backend-plugin-api';
import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import {
  catalogProcessingExtensionPoint,
  type EntityProviderConnection,
} from '@backstage/plugin-catalog-node';
import { createHash } from 'node:crypto';
import { describeFailure } from '../engine/failures';
import type { BackgroundWork } from '../work/BackgroundWork';
import { CoalescedRefresh } from '../work/CoalescedRefresh';

export const PROVIDER_NAME = 'tenant-members';

/** The pause after the first failure, doubled with each further one. */
const SHORTEST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 300_000;

/**
 * The entity provider that brings the members of one tenant into the catalog of its engine.
 *
 * An entity of the tenant's own sources takes precedence over a member with the same reference:
 * the provider leaves the member out, so the engine sees no conflict, and adds it again when
 * the other entity is gone. Its entities have no location key, so any source of the tenant may
 * take them over.
 */
export class MemberEntities {
  readonly #work: BackgroundWork;
  readonly #read: () => Promise<Entity[]>;
  readonly #ownersOf: (refs: string[]) => Promise<Map<string, 'own' | 'other'>>;
  readonly #logger: LoggerService;
  readonly #stopListening: () => void;
  readonly #refresh = new CoalescedRefresh(
    () => this.#handOverSafely(),
    () => this.#mayWork(),
  );
  #connection?: EntityProviderConnection;
  /** The digest of the entities that were last passed to the engine. */
  #handedOver?: string;
  /** The timer of the next attempt. */
  #timer?: NodeJS.Timeout;
  #failures = 0;
  #isClosed = false;

  /**
   * @param options - `read` reads the members as entities; `ownersOf` which of some references the
   * engine has, of this provider or of another source
   */
  constructor(options: {
    work: BackgroundWork;
    read: () => Promise<Entity[]>;
    ownersOf: (refs: string[]) => Promise<Map<string, 'own' | 'other'>>;
    logger: LoggerService;
  }) {
    this.#work = options.work;
    this.#read = options.read;
    this.#ownersOf = options.ownersOf;
    this.#logger = options.logger;
    // A process that gets the lease does not know which entities the previous one passed on.
    this.#stopListening = options.work.onChange(() => {
      this.#handedOver = undefined;
      this.refresh();
    });
  }

  /** Connects the provider in the engine that it is added to. */
  readonly feature: BackendFeature = createBackendModule({
    pluginId: 'catalog',
    moduleId: 'tenancy-members',
    register: env => {
      env.registerInit({
        deps: { processing: catalogProcessingExtensionPoint },
        init: async ({ processing }) => {
          processing.addEntityProvider({
            getProviderName: () => PROVIDER_NAME,
            connect: async connection => {
              this.#connection = connection;
              this.refresh();
            },
          });
        },
      });
    },
  });

  /** Brings the catalog up to date in the background, in the process that does the work. */
  refresh(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#refresh.request();
  }

  /** Whether a refresh runs or waits for its next attempt. */
  get isBusy(): boolean {
    return this.#refresh.isRunning || this.#timer !== undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#stopListening();
    clearTimeout(this.#timer);
  }

  async #handOverSafely(): Promise<void> {
    try {
      await this.#handOver();
      this.#failures = 0;
    } catch (error) {
      if (this.#mayWork()) {
        this.#logger.warn(
          `The members could not be brought into the catalog, which is tried again: ${describeFailure(
            error,
          )}`,
        );
        this.#timer = setTimeout(
          () => this.refresh(),
          Math.min(SHORTEST_PAUSE_MS * 2 ** this.#failures, LONGEST_PAUSE_MS),
        );
        this.#failures += 1;
      }
    }
  }

  #mayWork(): boolean {
    return (
      !this.#isClosed && this.#connection !== undefined && this.#work.mayBegin
    );
  }

  async #handOver(): Promise<void> {
    const members = await this.#read();
    const owners = await this.#ownersOf(members.map(stringifyEntityRef));
    const ownerOf = (entity: Entity) => owners.get(stringifyEntityRef(entity));
    const entities = members.filter(entity => ownerOf(entity) !== 'other');
    const digest = digestOf(entities);
    // Unchanged members are not passed on, so a sleeping engine is not woken.
    if (
      digest !== this.#handedOver ||
      entities.some(entity => ownerOf(entity) === undefined)
    ) {
      await this.#work.runTask(async () =>
        this.#connection?.applyMutation({
          type: 'full',
          entities: entities.map(entity => ({ entity })),
        }),
      );
      this.#handedOver = digest;
    }
  }
}

function digestOf(entities: Entity[]): string {
  return createHash('sha256').update(JSON.stringify(entities)).digest('base64');
}

import {
  coreServices,
  createBackendModule,
  type SchedulerService,
} from '@backstage/backend-plugin-api';
import {
  ANNOTATION_LOCATION,
  ANNOTATION_ORIGIN_LOCATION,
  type Entity,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import {
  catalogProcessingExtensionPoint,
  type EntityProviderConnection,
  locationSpecToLocationEntity,
} from '@backstage/plugin-catalog-node';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SourceServer } from './SourceServer';

/** What a test tells an engine from outside, beside its API. */
export interface EngineHandle {
  connection: EntityProviderConnection;
  scheduler: SchedulerService;
}

/**
 * A provider that hands over what the test tells it. It has its name from
 * `catalog.providers.test.name`, and keeps its connection under that name.
 */
export function testProvider(handles: Map<string, EngineHandle>) {
  return createBackendModule({
    pluginId: 'catalog',
    moduleId: 'test-provider',
    register(env) {
      env.registerInit({
        deps: {
          config: coreServices.rootConfig,
          processing: catalogProcessingExtensionPoint,
          scheduler: coreServices.scheduler,
        },
        async init({ config, processing, scheduler }) {
          const name = config.getOptionalString('catalog.providers.test.name');
          if (name !== undefined) {
            processing.addEntityProvider({
              getProviderName: () => `test-${name}`,
              async connect(connection) {
                handles.set(name, { connection, scheduler });
              },
            });
          }
        },
      });
    },
  });
}

type Kind = 'API' | 'Component' | 'Group' | 'Resource' | 'System';

const SPECS: Record<Kind, Entity['spec']> = {
  API: {
    type: 'openapi',
    lifecycle: 'production',
    owner: 'team-a',
    definition: 'openapi: 3 é 漢字',
  },
  Component: {
    type: 'service',
    lifecycle: 'production',
    owner: 'team-a',
    system: 'payments',
    dependsOn: ['resource:db'],
    providesApis: ['orders'],
  },
  Group: { type: 'team', children: [] },
  Resource: { type: 'database', owner: 'team-a', numbers: [0.1, 1e21] },
  System: { owner: 'team-a' },
};

/**
 * Where the entities of one tenant come from, and what its catalog has to show of them. Each
 * tenant has entities of the same references; their titles name the tenant.
 */
export class TenantSources {
  /** What each source has now, by its name. */
  readonly #contents = new Map<string, Entity[]>();
  #version = 0;

  constructor(
    readonly tenant: string,
    private readonly server: SourceServer,
    private readonly folder: string,
  ) {}

  /** The file that app-config names. */
  get file(): string {
    return join(this.folder, this.tenant, 'catalog-info.yaml');
  }

  url(name: string): string {
    return `http://${this.server.host}/${this.tenant}/${name}.yaml`;
  }

  /** An entity of this tenant, in another version than any before. */
  entity(kind: Kind, name: string): Entity {
    this.#version += 1;
    return {
      apiVersion: 'backstage.io/v1alpha1',
      kind,
      metadata: {
        name,
        title: `${name} of ${this.tenant}, version ${this.#version}`,
        tags: ['java', `of-${this.tenant}`],
      },
      spec: SPECS[kind],
    };
  }

  /** An entity that names another file as a location. */
  locationTo(name: string): Entity {
    return {
      apiVersion: 'backstage.io/v1alpha1',
      kind: 'Location',
      metadata: { name },
      spec: { type: 'url', target: this.url(name) },
    };
  }

  async putFile(entities: Entity[]): Promise<void> {
    await mkdir(join(this.folder, this.tenant), { recursive: true });
    await writeFile(this.file, yamlOf(entities));
    this.#contents.set('file', entities);
  }

  put(name: string, entities: Entity[]): void {
    this.server.put(`/${this.tenant}/${name}.yaml`, yamlOf(entities));
    this.#contents.set(name, entities);
  }

  /** Notes what a source has without changing it, such as after its location is gone. */
  note(name: string, entities: Entity[]): void {
    this.#contents.set(name, entities);
  }

  contents(name: string): Entity[] {
    return this.#contents.get(name) ?? [];
  }

  /** As providers hand entities over, which say where they come from. */
  deferred(entity: Entity) {
    const location = `url:https://example.com/${this.tenant}`;
    return {
      locationKey: 'test',
      entity: {
        ...entity,
        metadata: {
          ...entity.metadata,
          annotations: {
            [ANNOTATION_LOCATION]: location,
            [ANNOTATION_ORIGIN_LOCATION]: location,
          },
        },
      },
    };
  }

  /** The titles of all entities, in the order of their references. */
  titles(): string[] {
    return [...this.#contents.values()]
      .flat()
      .map(entity => `${stringifyEntityRef(entity)} ${entity.metadata.title}`)
      .sort();
  }
}

/** The entity that stands for a location itself. */
export function locationRef(type: 'file' | 'url', target: string): string {
  return stringifyEntityRef(
    locationSpecToLocationEntity({ location: { type, target } }),
  );
}

function yamlOf(entities: Entity[]): string {
  // JSON is YAML.
  return entities.map(entity => JSON.stringify(entity)).join('\n---\n');
}

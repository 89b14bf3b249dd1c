import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import { join } from 'node:path';
import type { Entity } from '@backstage/catalog-model';
import { waitUntil } from '@internal/postgres/testUtils';
// The plugin itself, which the operator's smoke tests call.
// eslint-disable-next-line @backstage/no-mixed-plugin-imports
import tenantsPlugin from 'backstage-plugin-tenants-backend';
import {
  type Caller,
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { EngineLog, type FollowedBackend } from './EngineLog';
import type { LiveDatabase } from './LiveDatabase';
import { LiveEngine } from './LiveEngine';

/** Longer than the engine takes for its work on a slow machine. */
export const PATIENCE_MS = 300_000;

const CONFIG = {
  tenancy: { admins: ['user:default/mock'] },
  catalog: {
    processingInterval: { seconds: 3 },
    stitchingStrategy: { pollingInterval: { milliseconds: 100 } },
    rules: [
      {
        allow: ['Component', 'API', 'Resource', 'System', 'Group', 'Location'],
      },
    ],
  },
};

interface Deployment {
  backend: CatalogBackend;
  engine: LiveEngine;
  enabled: boolean;
  followed: FollowedBackend;
}

/** A backend with the stock catalog, whose engine works all the time. */
export class LiveCatalog {
  static async start(
    database: LiveDatabase,
    enabled = false,
  ): Promise<LiveCatalog> {
    const folder = await mkdtemp(join(os.tmpdir(), 'live-catalog-'));
    const catalog = new LiveCatalog(database, folder);
    await catalog.deploy(enabled);
    return catalog;
  }

  readonly log = new EngineLog();
  private current?: Deployment;

  private constructor(
    readonly database: LiveDatabase,
    /** For the files that are registered. */
    readonly folder: string,
  ) {}

  /**
   * Replaces the backend: the new one is up before the old one goes, and for a
   * while there are two engines.
   */
  async deploy(
    enabled: boolean,
    handOver: (change: () => void) => Promise<void> = async change => change(),
  ): Promise<void> {
    const old = this.current;
    const engine = new LiveEngine();
    const followed = this.log.follow();
    const backend = await startCatalogBackend({
      connection: this.database.engine,
      ...(enabled && { enabled }),
      config: CONFIG,
      features: [
        engine.feature,
        ...(enabled ? [tenantsPlugin] : []),
        ...followed.features,
      ],
    });
    await handOver(() => {
      this.current = { backend, engine, enabled, followed };
    });
    await stop(old);
  }

  async stop(): Promise<void> {
    await stop(this.current);
    this.current = undefined;
    await rm(this.folder, { recursive: true, force: true });
  }

  get engine(): LiveEngine {
    return this.deployment.engine;
  }

  /** Whether it is the catalogs of tenants that answer. */
  get enabled(): boolean {
    return this.deployment.enabled;
  }

  /** Where the backend answers. */
  get baseUrl(): string {
    return `http://localhost:${this.deployment.backend.server.port()}`;
  }

  /** The API, as the default tenant's users call it. */
  get api(): Caller {
    return this.apiOf('default');
  }

  /** The API, as a tenant's users call it, once there are tenants. */
  apiOf(slug: string): Caller {
    const { backend, enabled } = this.deployment;
    return backend.as(enabled ? slug : undefined);
  }

  /** Adds another tenant, with entities of its own. */
  async addTenant(slug: string, entities: Entity[]): Promise<void> {
    await this.deployment.backend.createTenant(slug, entities);
  }

  async register(path: string): Promise<{ id: string; entityRef: string }> {
    const { body } = await this.api
      .post('/locations', { type: 'file', target: path })
      .expect(201);
    const { kind, metadata } = await this.locationEntity(path);
    return {
      id: body.location.id,
      entityRef: `${kind}:${metadata.namespace}/${metadata.name}`.toLowerCase(),
    };
  }

  async unregister(id: string): Promise<void> {
    await this.api.send('DELETE', `/locations/${id}`).expect(204);
  }

  async refresh(entityRef: string): Promise<void> {
    await this.api.post('/refresh', { entityRef }).expect(200);
  }

  /** Waits until the engine has deleted an entity. */
  async gone(entityRef: string): Promise<void> {
    await this.until(`${entityRef} to be deleted`, async () => {
      await this.engine.deleteOrphans();
      const rows = await this.database.query(
        'select from public.refresh_state where entity_ref = $1',
        [entityRef],
      );
      return rows.length === 0;
    });
  }

  /** Waits until the engine could not process an entity. */
  async withErrors(entityRef: string): Promise<void> {
    await this.until(`errors of ${entityRef}`, async () => {
      const rows = await this.database.query(
        `select from public.refresh_state
          where entity_ref = $1 and errors not in ('', '[]')`,
        [entityRef],
      );
      return rows.length > 0;
    });
  }

  /** Waits for something that has to come. */
  async until(what: string, condition: () => Promise<boolean>): Promise<void> {
    await waitUntil(what, condition, { withinMs: PATIENCE_MS });
  }

  private get deployment(): Deployment {
    if (!this.current) {
      throw new Error('The backend is not running');
    }
    return this.current;
  }

  private async locationEntity(path: string) {
    const find = () =>
      this.database.query<{ entity: string }>(
        `select final_entity as entity from public.final_entities
          where entity_ref like 'location:%'
            and final_entity::jsonb #>> '{spec,target}' = $1`,
        [path],
      );
    await this.until(
      `the location ${path}`,
      async () => (await find()).length > 0,
    );
    return JSON.parse((await find())[0].entity);
  }
}

async function stop(deployment: Deployment | undefined): Promise<void> {
  deployment?.followed.end();
  await deployment?.backend.stop();
}

import type { BackendFeature, ServiceRef } from '@backstage/backend-plugin-api';
import type { JsonObject } from '@backstage/types';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { takeServices } from '@internal/catalog-testing/takeServices';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import { Client, type ClientConfig } from 'pg';
import { mergeConfigs } from '../config/pluginConfig';
import type { EngineRole } from '../leases/ProcessLeases';
import {
  catalogModuleTenantEngines,
  enginesServiceFactory,
  tenantEnginesServiceFactory,
} from '../module';

/** Has engines find whatever a source loses or gets, without being told. */
const EAGER = {
  catalog: { processingInterval: { seconds: 1 } },
  tenancy: {
    engines: {
      processingInterval: { seconds: 1 },
      minProcessingInterval: { seconds: 1 },
    },
  },
};

interface StartOptions {
  config?: JsonObject;
  /** Whether engines look for changes of their sources each second. */
  isEager?: boolean;
  /** Of the backend itself. */
  features?: BackendFeature[];
  /** Modules of each engine. */
  modules?: BackendFeature[];
  role?: EngineRole;
  /** That code hands entities from. */
  sources?: string[];
  timing?: Parameters<typeof catalogModuleTenantEngines>[1];
}

/** Tenants on a database of their own, and the backends with engines that a test starts on it. */
export class TenantsOfTest {
  readonly connection: ClientConfig;
  /** Of the owner of the database. */
  readonly client: Client;
  readonly #ids = new Map<string, string>();
  readonly #running = new Set<CatalogBackend>();

  static async create(
    databases: TestDatabases,
    id: TestDatabaseId,
    slugs: string[],
  ): Promise<TenantsOfTest> {
    const connection = await createTenancyDatabase(databases, id);
    const tenants = new TenantsOfTest(connection);
    await tenants.client.connect();
    const { rows } = await tenants.client.query(
      `insert into tenancy.tenants (tenant_slug, tenant_name)
       select slug, slug from unnest($1::text[]) slug returning tenant_slug, tenant_id`,
      [slugs],
    );
    rows.forEach(row => tenants.#ids.set(row.tenant_slug, row.tenant_id));
    return tenants;
  }

  private constructor(connection: ClientConfig) {
    this.connection = connection;
    this.client = new Client(connection);
  }

  get slugs(): string[] {
    return [...this.#ids.keys()];
  }

  idOf(slug: string): string {
    return this.#ids.get(slug)!;
  }

  /** @param refs - of the services that the test needs */
  async start<
    TRefs extends Record<string, ServiceRef<unknown, 'root' | 'plugin'>>,
  >(
    refs: TRefs,
    {
      config = {},
      features = [],
      isEager = false,
      modules = [],
      role = 'all',
      sources,
      timing,
    }: StartOptions = {},
  ) {
    const { feature, services } = takeServices(refs);
    const backend = await startCatalogBackend({
      connection: this.connection,
      enabled: true,
      config: mergeConfigs(
        {
          catalog: {
            stitchingStrategy: { pollingInterval: { milliseconds: 100 } },
          },
          events: { useEventBus: 'never' },
          tenancy: { engines: { role } },
        },
        isEager ? EAGER : {},
        config,
      ),
      features: [
        ...features,
        enginesServiceFactory,
        tenantEnginesServiceFactory,
        catalogModuleTenantEngines(modules, timing, sources),
        feature,
      ],
    });
    this.#running.add(backend);
    return { backend, services };
  }

  async stop(backend: CatalogBackend): Promise<void> {
    this.#running.delete(backend);
    await backend.stop();
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map(backend => this.stop(backend)));
  }

  async close(): Promise<void> {
    await this.stopAll();
    await this.client.end();
  }
}

import {
  type BackendFeature,
  createBackendModule,
} from '@backstage/backend-plugin-api';
import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import {
  catalogLocationsExtensionPoint,
  catalogProcessingExtensionPoint,
  type CatalogProcessor,
  processingResult,
} from '@backstage/plugin-catalog-node';
import type { JsonObject } from '@backstage/types';
import {
  Random,
  type TestDatabaseId,
  type TestDatabases,
} from '@internal/postgres/testUtils';
import { adopt } from 'backstage-catalog-tenancy-migrations';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '@internal/catalog-testing/startCatalogBackend';
import { createTenancyDatabase } from '@internal/catalog-testing/tenancyDatabase';
import {
  FAILS,
  generateCatalog,
  type GeneratedCatalog,
} from './generatedEntities';

const PROVIDER = 'generated-entities';

/** Where the engine of the stock catalog gets a generated catalog from. */
class GeneratedSource {
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

const CONFIG: JsonObject = {
  catalog: {
    processingInterval: { hours: 1 },
    stitchingStrategy: { pollingInterval: { milliseconds: 100 } },
    orphanStrategy: 'keep',
    rules: [
      {
        allow: [
          ...['Component', 'API', 'Resource', 'System', 'Domain'],
          ...['Group', 'User', 'Location', 'Template'],
        ],
      },
    ],
  },
};

// How long its tables may stay the same while the engine still has something to do.
const STANDSTILL_MS = 120_000;

const IS_DONE = `
  select not exists (select from stitch_queue)
     and not exists (select from refresh_state where next_update_at <= now())
     and not exists (select from refresh_state r
                       left join final_entities f on f.entity_id = r.entity_id
                                                 and f.final_entity is not null
                      where f.entity_id is null) as done,
         jsonb_build_array(
           (select count(*) from stitch_queue),
           (select count(*) from refresh_state where next_update_at <= now()),
           (select count(*) from final_entities where final_entity is not null)
         )::text as progress,
         (select count(*)::int from refresh_state) as entities,
         (select count(*)::int from final_entities
           where final_entity like '%"backstage.io/orphan":"true"%') as orphans,
         (select count(*)::int from final_entities
           where final_entity like '%"status":%TypeError%') as failed`;

/** A catalog that the engine of the stock catalog has ingested, and that is adopted. */
export interface EngineCatalog {
  connection: ClientConfig;
  /** The stock catalog by itself, whose engine has made the entities. */
  stock: CatalogBackend;
  /** As the superuser. */
  query<TRow extends object>(sql: string, values?: unknown[]): Promise<TRow[]>;
}

/**
 * Has the engine ingest a generated catalog until it has nothing left to do, then
 * adopts it.
 */
export async function ingestCatalog(
  databases: TestDatabases,
  id: TestDatabaseId,
  options: { seed: number; entities: number; features?: BackendFeature[] } & {
    config?: JsonObject;
  },
): Promise<EngineCatalog> {
  const { seed, entities, features = [], config } = options;
  const connection = await createTenancyDatabase(databases, id);
  const source = new GeneratedSource(
    generateCatalog(new Random(seed), entities),
  );
  const stock = await startCatalogBackend({
    connection,
    config: { ...config, ...CONFIG },
    features: [source.feature(), ...features],
  });
  const query = (sql: string, values?: unknown[]) =>
    queryOnce(connection, sql, values);
  const expected = { entities: source.entities.length, orphans: 0, failed: 0 };
  const refresh = (refs: string[]) =>
    query(
      `update refresh_state set next_update_at = now(), result_hash = ''
        where entity_ref = any ($1)`,
      [refs],
    );
  await settled(query, expected);
  source.change();
  await refresh([...source.locations, ...source.failing]);
  await settled(query, { ...expected, failed: source.failing.length });
  // What has lost its parents finds out when it is processed again: later than they
  // are, which may still be at it.
  await settled(
    query,
    {
      ...expected,
      failed: source.failing.length,
      orphans: source.orphans.length,
    },
    () => refresh(source.orphans),
  );
  await adopt({ connection, force: true });
  return { connection, stock, query: query as EngineCatalog['query'] };
}

type Query = (sql: string, values?: unknown[]) => Promise<object[]>;

/** @param again - what to do where nothing is left to do, and too little came of it */
async function settled(
  query: Query,
  expected: { entities: number; orphans: number; failed: number },
  again?: () => Promise<unknown>,
): Promise<void> {
  let last = '';
  let deadline = 0;
  for (;;) {
    const [refused] = (await query(
      `select entity_ref || ': ' || errors as reason from refresh_state
        where errors like '[{%' and processed_entity is null limit 1`,
    )) as Array<{ reason: string }>;
    if (refused) {
      throw new Error(`The engine refuses ${refused.reason}`);
    }
    const [{ done, progress, ...counts }] = (await query(IS_DONE)) as Array<
      typeof expected & { done: boolean; progress: string }
    >;
    const found = JSON.stringify(counts);
    if (done) {
      if (found === JSON.stringify(expected)) {
        return;
      }
      await again?.();
    }
    if (found + progress !== last) {
      last = found + progress;
      deadline = performance.now() + STANDSTILL_MS;
    }
    if (performance.now() > deadline) {
      throw new Error(
        `The engine stands still at ${found}, expected ${JSON.stringify(
          expected,
        )}`,
      );
    }
    await delay(200);
  }
}

async function queryOnce(
  connection: ClientConfig,
  sql: string,
  values?: unknown[],
): Promise<object[]> {
  const client = new Client(connection);
  await client.connect();
  try {
    const { rows } = await client.query(sql, values);
    return rows;
  } finally {
    await client.end();
  }
}

function positive(name: string, byDefault: number): number {
  const text = process.env[`CATALOG_DIFFERENTIAL_${name}`];
  const value = text === undefined ? byDefault : Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new Error(
      `CATALOG_DIFFERENTIAL_${name} is '${text}', expected a whole number of 1 or more`,
    );
  }
  return value;
}

/** How much the differential tests do; a failed one prints the seed. */
export const sizes = {
  entities: positive('ENTITIES', 250),
  requests: positive('REQUESTS', 120),
  seed: positive('SEED', 20_260),
};

import type { BackendFeature } from '@backstage/backend-plugin-api';
import type { TestDatabaseId } from '@internal/postgres/testUtils';
import type { TestDatabases } from '@internal/postgres/testUtils';
import type { JsonObject } from '@backstage/types';
import { adopt } from 'backstage-catalog-tenancy-migrations';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import {
  type CatalogBackend,
  startCatalogBackend,
} from '../../__testUtils__/startCatalogBackend';
import { createTenancyDatabase } from '../../__testUtils__/tenancyDatabase';
import { GeneratedSource } from './GeneratedSource';
import { generateCatalog } from './generatedEntities';
import { Random } from '@internal/postgres/testUtils';

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

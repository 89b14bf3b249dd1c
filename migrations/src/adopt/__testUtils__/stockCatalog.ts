import type {
  TestDatabaseId,
  TestDatabases,
} from '@internal/postgres/testUtils';
import createKnex from 'knex';
import type { Knex } from 'knex';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { ClientConfig } from 'pg';
import { openCatalogDatabase } from '../../__testUtils__/catalogDatabase';
import type { CatalogDatabase } from '../../__testUtils__/catalogDatabase';

/** The folder of the migrations that the stock catalog runs at its startup. */
export const STOCK_MIGRATIONS = join(
  dirname(require.resolve('@backstage/plugin-catalog-backend/package.json')),
  'migrations',
);

/** One entity, as the engine is told about it. */
export interface EngineEntity {
  ref: string;
  id?: string;
  /** In place of a made up one. */
  json?: string;
  description?: string;
  relations?: [type: string, target: string][];
  parent?: string;
  locationKey?: string;
  errors?: string;
}

/** Writes as the engine does: in the same transactions, in the same order. */
export class EngineWriter {
  constructor(private readonly knex: Knex) {}

  /** Everything that leads to an entity that is served. */
  async ingest(entity: EngineEntity): Promise<string> {
    const id = await this.discover(entity);
    await this.process(id, entity);
    await this.stitch(id, entity);
    return id;
  }

  async discover(entity: EngineEntity): Promise<string> {
    const id = entity.id ?? randomUUID();
    await this.knex.transaction(async tx => {
      await tx('refresh_state').insert({
        entity_id: id,
        entity_ref: entity.ref,
        unprocessed_entity: '{}',
        errors: '',
        location_key: entity.locationKey ?? null,
        next_update_at: tx.fn.now(),
        last_discovery_at: tx.fn.now(),
      });
      await tx('refresh_state_references').insert(
        entity.parent
          ? {
              source_entity_ref: entity.parent,
              target_entity_ref: entity.ref,
            }
          : { source_key: 'test', target_entity_ref: entity.ref },
      );
    });
    return id;
  }

  /** As `updateProcessedEntity` does. */
  async process(
    id: string,
    entity: EngineEntity,
    options: { tx?: Knex.Transaction } = {},
  ): Promise<void> {
    const work = async (tx: Knex.Transaction) => {
      await tx('refresh_state')
        .where({ entity_id: id })
        .update({
          processed_entity: '{}',
          errors: entity.errors ?? '[]',
          location_key: entity.locationKey ?? null,
        });
      await tx('relations').where({ originating_entity_id: id }).delete();
      const rows = (entity.relations ?? []).map(([type, target]) => ({
        originating_entity_id: id,
        source_entity_ref: entity.ref,
        type,
        target_entity_ref: target,
      }));
      if (rows.length > 0) {
        await tx('relations').insert(rows);
      }
    };
    await (options.tx ? work(options.tx) : this.knex.transaction(work));
  }

  /**
   * As `performStitching` does: the entity and its search rows in one transaction. What another
   * publication keeps from being serialized (40001) is stitched again.
   */
  async stitch(id: string, entity: EngineEntity): Promise<void> {
    try {
      await this.stitchOnce(id, entity);
    } catch (error) {
      if ((error as { code?: string }).code !== '40001') {
        throw error;
      }
      await this.stitch(id, entity);
    }
  }

  private async stitchOnce(id: string, entity: EngineEntity): Promise<void> {
    const json = entity.json ?? jsonOf(id, entity);
    await this.knex.transaction(async tx => {
      await tx('refresh_state')
        .where({ entity_id: id })
        .select('entity_id')
        .forKeyShare()
        .first();
      await tx('final_entities')
        .insert({
          entity_id: id,
          entity_ref: entity.ref,
          final_entity: json,
          hash: `${json.length}-${randomUUID()}`,
          last_updated_at: tx.fn.now(),
        })
        .onConflict('entity_id')
        .merge(['final_entity', 'hash', 'last_updated_at']);
      await tx('search').where({ entity_id: id }).delete();
      await tx('search').insert({
        entity_id: id,
        key: 'metadata.description',
        value: entity.description ?? null,
      });
    });
  }

  /** What is done to every entity every few minutes. */
  async touch(): Promise<void> {
    await this.knex('refresh_state').update({
      next_update_at: this.knex.fn.now(),
    });
  }

  async remove(...refs: string[]): Promise<void> {
    await this.knex('refresh_state').whereIn('entity_ref', refs).delete();
  }
}

function jsonOf(id: string, entity: EngineEntity): string {
  const [, kind, namespace, name] =
    /^([^:]+):([^/]+)\/(.+)$/.exec(entity.ref) ?? [];
  return JSON.stringify({
    apiVersion: 'backstage.io/v1alpha1',
    kind,
    metadata: {
      namespace,
      name,
      uid: id,
      description: entity.description ?? 'Größe "ß" \\ 😀',
    },
    relations: (entity.relations ?? []).map(([type, targetRef]) => ({
      type,
      targetRef,
    })),
  });
}

/** A database in which the stock catalog has created its tables. */
export interface StockCatalog extends CatalogDatabase, EngineConnection {}

/** How the engine connects, and what it writes. */
export interface EngineConnection {
  knex: Knex;
  engine: EngineWriter;
}

export function engineOf(
  connection: ClientConfig,
  catalogSchema: string,
): EngineConnection {
  const knex = engineKnex(connection, catalogSchema);
  return { knex, engine: new EngineWriter(knex) };
}

/**
 * A new database with the stock catalog's tables: a copy of one in which its migrations
 * have run.
 */
export async function createStockCatalog(
  databases: TestDatabases,
  id: TestDatabaseId,
  { catalogSchema = 'public' }: { catalogSchema?: string } = {},
): Promise<StockCatalog> {
  const connection = await databases.create(id, {
    name: `stock catalog in the schema ${catalogSchema}`,
    prepare: async empty => {
      const knex = engineKnex(empty, catalogSchema);
      await knex.raw('create schema if not exists ??', [catalogSchema]);
      await knex.migrate.latest({ directory: STOCK_MIGRATIONS });
      await knex.destroy();
    },
  });
  return openStockCatalog(connection, catalogSchema);
}

function engineKnex(connection: ClientConfig, catalogSchema: string): Knex {
  return createKnex({
    client: 'pg',
    connection: {
      ...connection,
      application_name: 'backstage',
    } as Knex.PgConnectionConfig,
    searchPath: [catalogSchema],
    pool: { min: 0, max: 10 },
  });
}

/** A database that is there already, as the engine and an operator connect to it. */
export async function openStockCatalog(
  connection: ClientConfig,
  catalogSchema = 'public',
): Promise<StockCatalog> {
  const engine = engineOf(connection, catalogSchema);
  const database = await openCatalogDatabase(connection);
  return {
    ...database,
    ...engine,
    close: async () => {
      await engine.knex.destroy();
      await database.close();
    },
  };
}

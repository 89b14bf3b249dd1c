import { resolvePackagePath } from '@backstage/backend-plugin-api';
import type { Entity } from '@backstage/catalog-model';
import type { Knex } from 'knex';

// What the stock catalog's engine is made of. The package does not export it; these
// are the statements that it sends, in the transactions in which it sends them.

/** A row of `refresh_state`, as the engine takes it to process it. */
export interface ProcessableEntity {
  id: string;
  entityRef: string;
  unprocessedEntity: Entity;
  locationKey?: string;
}

export interface StitchableEntity {
  entityRef: string;
  stitchTicket: string;
}

interface Relation {
  source: unknown;
  target: unknown;
  type: string;
}

export interface ProcessingDatabase {
  transaction<T>(
    use: (transaction: Knex.Transaction) => Promise<T>,
  ): Promise<T>;
  getProcessableEntities(
    transaction: Knex.Transaction,
    request: { processBatchSize: number },
  ): Promise<{ items: ProcessableEntity[] }>;
  listParents(
    transaction: Knex.Transaction,
    options: { entityRefs: string[] },
  ): Promise<unknown>;
  updateProcessedEntity(
    transaction: Knex.Transaction,
    options: {
      id: string;
      processedEntity: Entity;
      resultHash: string;
      errors: string;
      relations: Relation[];
      deferredEntities: never[];
      refreshKeys: never[];
      locationKey?: string;
    },
  ): Promise<unknown>;
}

export interface ProviderDatabase {
  transaction<T>(
    use: (transaction: Knex.Transaction) => Promise<T>,
  ): Promise<T>;
  replaceUnprocessedEntities(
    transaction: Knex.Transaction,
    options: {
      type: 'delta';
      sourceKey: string;
      added: { entity: Entity; locationKey?: string }[];
      removed: { entityRef: string }[];
    },
  ): Promise<void>;
}

export interface Stitching {
  markForStitching(options: {
    knex: Knex;
    entityRefs: string[];
  }): Promise<void>;
  getDeferredStitchableEntities(options: {
    knex: Knex;
    batchSize: number;
    stitchTimeout: { seconds: number };
  }): Promise<StitchableEntity[]>;
  performStitching(
    options: { knex: Knex; logger: unknown } & StitchableEntity,
  ): Promise<string>;
}

const logger = { debug() {}, warn() {}, error() {} };

/** The engine's ways to the database. */
export function stockEngine(knex: Knex) {
  const options = {
    database: knex,
    logger,
    events: { async publish() {} },
    // So that every entity is due again at once.
    refreshInterval: () => 0,
  };
  const { DefaultProcessingDatabase } = internals('DefaultProcessingDatabase');
  const { DefaultProviderDatabase } = internals('DefaultProviderDatabase');
  const stitcher = (name: string) => internals(`operations/stitcher/${name}`);
  return {
    // Its constructor would register metrics.
    processing: Object.assign(
      Object.create(DefaultProcessingDatabase.prototype),
      { options },
    ) as ProcessingDatabase,
    provider: Object.assign(Object.create(DefaultProviderDatabase.prototype), {
      options,
    }) as ProviderDatabase,
    stitching: {
      ...stitcher('markForStitching'),
      ...stitcher('getDeferredStitchableEntities'),
      ...stitcher('performStitching'),
    } as unknown as Stitching,
    logger,
  };
}

function internals(name: string): Record<string, { prototype: object }> {
  return require(resolvePackagePath(
    '@backstage/plugin-catalog-backend',
    `dist/database/${name}.cjs.js`,
  ));
}

import { resolvePackagePath } from '@backstage/backend-plugin-api';
import { type Entity, parseEntityRef } from '@backstage/catalog-model';
import createKnex, { type Knex } from 'knex';
import { randomUUID } from 'node:crypto';
import { keepBusy } from '../harness/load';
import type { Measurement } from '../harness/comparison';
import { createEntity } from '../harness/entities';

/** As many entities as the engine loads at a time. */
const BATCH = 5;
const SOURCE_KEY = 'benchmark';

/** What the engine is busy with. */
export type Work = 'change' | 'life' | 'nothing';

/** What it came to, with what PostgreSQL had to write. */
export interface EngineMeasurement extends Measurement {
  walBytes: number;
}

/**
 * An engine that processes and stitches entities all the time, in lanes, with the
 * statements of the stock catalog. What processors do in between is left out: it would
 * take the same time on every side.
 */
export class StitchingEngine {
  static open(
    connection: Knex.PgConnectionConfig | string,
    lanes: number,
  ): StitchingEngine {
    const knex = createKnex({
      client: 'pg',
      connection,
      pool: { min: lanes, max: 2 * lanes },
    });
    return new StitchingEngine(knex, lanes);
  }

  private readonly stock: ReturnType<typeof stockEngine>;
  private count = 0;

  private constructor(
    private readonly knex: Knex,
    private readonly lanes: number,
  ) {
    this.stock = stockEngine(knex);
  }

  async close(): Promise<void> {
    await this.knex.destroy();
  }

  /** Does one kind of work for so long, in all lanes at once. */
  async measure(work: Work, seconds: number): Promise<EngineMeasurement> {
    const lsn = await this.lsn();
    const measured = await keepBusy(this.lanes, seconds, () => this[work]());
    return {
      ...measured,
      walBytes: (await this.walSince(lsn)) / measured.count,
    };
  }

  /** Entities that come out of processing with something else in them. */
  async change(): Promise<number> {
    const items = await this.due();
    for (const item of items) {
      await this.process(item, title(item.unprocessedEntity, randomUUID()));
    }
    return this.stitch();
  }

  /** Entities that are due, and come out of processing as they were. */
  async nothing(): Promise<number> {
    const items = await this.due();
    const { processing } = this.stock;
    for (const { entityRef } of items) {
      await processing.transaction(tx =>
        processing.listParents(tx, { entityRefs: [entityRef] }),
      );
    }
    return items.length;
  }

  /** Entities that a provider adds, and removes once they are stitched. */
  async life(): Promise<number> {
    const entities = Array.from({ length: BATCH }, () => this.newEntity());
    const refs = entities.map(({ ref }) => ref);
    await this.mutate(
      entities.map(({ entity }) => ({ entity, locationKey: SOURCE_KEY })),
      [],
    );
    const rows = await this.knex('refresh_state')
      .select({ id: 'entity_id', entityRef: 'entity_ref' })
      .whereIn('entity_ref', refs);
    for (const { id, entityRef } of rows) {
      const { entity } = entities.find(({ ref }) => ref === entityRef)!;
      await this.process(
        { id, entityRef, unprocessedEntity: entity, locationKey: SOURCE_KEY },
        entity,
      );
    }
    await this.stitch(refs);
    await this.mutate([], refs);
    return BATCH;
  }

  private async due(): Promise<ProcessableEntity[]> {
    const { processing } = this.stock;
    const { items } = await processing.transaction(tx =>
      processing.getProcessableEntities(tx, { processBatchSize: BATCH }),
    );
    return items;
  }

  private async process(
    { id, entityRef, unprocessedEntity, locationKey }: ProcessableEntity,
    processedEntity: Entity,
  ): Promise<void> {
    const { processing, stitching } = this.stock;
    const relations = (unprocessedEntity.relations ?? []).map(
      ({ type, targetRef }) => ({
        source: parseEntityRef(entityRef),
        target: parseEntityRef(targetRef),
        type,
      }),
    );
    await processing.transaction(tx =>
      processing.updateProcessedEntity(tx, {
        id,
        processedEntity,
        resultHash: randomUUID(),
        errors: '[]',
        relations,
        deferredEntities: [],
        refreshKeys: [],
        locationKey,
      }),
    );
    await stitching.markForStitching({
      knex: this.knex,
      entityRefs: [entityRef],
    });
  }

  /** Stitches what is due; with refs, until those are done, by whatever lane. */
  private async stitch(refs?: string[]): Promise<number> {
    const { stitching, logger } = this.stock;
    const { knex } = this;
    let count = 0;
    do {
      const items = await stitching.getDeferredStitchableEntities({
        knex,
        batchSize: BATCH,
        stitchTimeout: { seconds: 60 },
      });
      for (const item of items) {
        await stitching.performStitching({ knex, logger, ...item });
      }
      count += items.length;
    } while (refs && (await this.waiting(refs)));
    return count;
  }

  private async waiting(refs: string[]): Promise<boolean> {
    const rows = await this.knex('stitch_queue')
      .select('entity_ref')
      .whereIn('entity_ref', refs);
    return rows.length > 0;
  }

  private async mutate(
    added: { entity: Entity; locationKey: string }[],
    removed: string[],
  ): Promise<void> {
    const { provider } = this.stock;
    await provider.transaction(tx =>
      provider.replaceUnprocessedEntities(tx, {
        type: 'delta',
        sourceKey: SOURCE_KEY,
        added,
        removed: removed.map(entityRef => ({ entityRef })),
      }),
    );
  }

  private newEntity(): { ref: string; entity: Entity } {
    this.count += 1;
    // Numbers that none of those have that are there from the start.
    const { entity, ref } = createEntity(1_000_000 + this.count);
    return { entity, ref };
  }

  private async lsn(): Promise<string> {
    const { rows } = await this.knex.raw(
      'select pg_current_wal_insert_lsn()::text as lsn',
    );
    return rows[0].lsn;
  }

  private async walSince(lsn: string): Promise<number> {
    const { rows } = await this.knex.raw(
      'select (pg_current_wal_insert_lsn() - ?::pg_lsn)::text as bytes',
      [lsn],
    );
    return Number(rows[0].bytes);
  }
}

function title(entity: Entity, value: string): Entity {
  return { ...entity, metadata: { ...entity.metadata, title: value } };
}

// What the stock catalog's engine is made of. The package does not export it; these
// are the statements that it sends, in the transactions in which it sends them.

/** A row of `refresh_state`, as the engine takes it to process it. */
interface ProcessableEntity {
  id: string;
  entityRef: string;
  unprocessedEntity: Entity;
  locationKey?: string;
}

interface StitchableEntity {
  entityRef: string;
  stitchTicket: string;
}

interface Relation {
  source: unknown;
  target: unknown;
  type: string;
}

interface ProcessingDatabase {
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

interface ProviderDatabase {
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

interface Stitching {
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
function stockEngine(knex: Knex) {
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

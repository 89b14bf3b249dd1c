import { ConflictError } from '@backstage/errors';
import type { TenantTransaction } from '../../database/TenantDatabase';
import type { EntityToWrite, MutationPlan } from './planMutation';

// What a statement may hold: parameters are counted in 16 bits.
const ROWS = 1_000;
// Where PostgreSQL reckons with few entities, it compares each row of an update with
// each change.
const UPDATED_ROWS = 250;
const BYTES = 4 * 1024 * 1024;

interface EntityRow {
  entity: EntityToWrite;
  finalEntity: string;
}

/**
 * Writes what was planned. The transaction holds the lock of the tenant.
 *
 * A deleted entity keeps its row, but no relations and no refresh state: its own
 * come back with it. Relations of others that lead to it stay, as in the stock
 * catalog.
 */
export async function writePlan(
  transaction: TenantTransaction,
  plan: MutationPlan,
): Promise<void> {
  const rewritten = [...plan.updated, ...plan.revived];
  const written = [...plan.inserted, ...rewritten];
  await preferIndexes(transaction);
  await deleteEntities(transaction, plan.deleted);
  await eachChunk(plan.inserted, ROWS, rows =>
    insertEntities(transaction, rows),
  );
  await eachChunk(rewritten, UPDATED_ROWS, rows =>
    updateEntities(transaction, rows),
  );
  await deleteOf(transaction, 'relations', [
    ...plan.deleted,
    ...rewritten.map(({ entityId }) => entityId),
  ]);
  await deleteOf(transaction, 'refresh_state', plan.deleted);
  await insertRelations(transaction, written);
  await putRefreshState(transaction, plan.source, [
    ...written.map(({ entityId }) => entityId),
    ...plan.claimed,
  ]);
}

/**
 * Makes PostgreSQL find the entity of a relation, and that of a refresh state, by the
 * index when it checks the foreign keys, until the transaction ends.
 *
 * It plans the check once for each connection. With few entities there it would read
 * through all of them, and go on so when there are many: for each row of a first
 * large mutation.
 */
async function preferIndexes(transaction: TenantTransaction): Promise<void> {
  await transaction.query(
    transaction.knex.raw(`select set_config('enable_seqscan', 'off', true)`),
  );
}

async function deleteEntities(
  transaction: TenantTransaction,
  ids: string[],
): Promise<void> {
  if (ids.length === 0) {
    return;
  }
  const { knex } = transaction;
  const rows = await transaction.query(
    transaction
      .table('entities')
      .whereRaw('entity_id = any (?::uuid[])', [ids])
      .whereNull('deleted_at')
      .update({ deleted_at: knex.fn.now(), updated_at: knex.fn.now() })
      .returning('entity_id'),
  );
  expectAll(rows, ids);
}

async function insertEntities(
  transaction: TenantTransaction,
  rows: EntityRow[],
): Promise<void> {
  const inserted = await transaction.query(
    transaction
      .insertInto(
        'entities',
        rows.map(({ entity, finalEntity }) => ({
          entity_id: entity.entityId,
          entity_ref: entity.ref,
          entity_kind: entity.kind,
          entity_namespace: entity.namespace,
          entity_name: entity.name,
          final_entity: finalEntity,
          hash: entity.hash,
        })),
      )
      .onConflict()
      .ignore()
      .returning('entity_id'),
  );
  expectAll(inserted, rows);
}

async function updateEntities(
  transaction: TenantTransaction,
  rows: EntityRow[],
): Promise<void> {
  const { knex } = transaction;
  const changes = rows.map(
    ({ entity, finalEntity }) =>
      `{"entity_id":"${entity.entityId}","hash":"${entity.hash}","final_entity":${finalEntity}}`,
  );
  const updated = await transaction.query(
    transaction
      .table('entities', 'e')
      .with(
        'changes',
        knex.raw(
          `select * from jsonb_to_recordset(?::jsonb)
             c (entity_id uuid, hash text, final_entity jsonb)`,
          [`[${changes.join()}]`],
        ),
      )
      .updateFrom('changes')
      .whereRaw('e.entity_id = any (?::uuid[])', [
        rows.map(({ entity }) => entity.entityId),
      ])
      .whereRaw('changes.entity_id = e.entity_id')
      .update({
        final_entity: knex.ref('changes.final_entity'),
        hash: knex.ref('changes.hash'),
        updated_at: knex.fn.now(),
        deleted_at: null,
      })
      .returning('e.entity_id'),
  );
  expectAll(updated, rows);
}

async function deleteOf(
  transaction: TenantTransaction,
  table: 'relations' | 'refresh_state',
  ids: string[],
): Promise<void> {
  if (ids.length === 0) {
    return;
  }
  const column = table === 'relations' ? 'originating_entity_id' : 'entity_id';
  await transaction.query(
    transaction
      .table(table)
      .whereRaw('?? = any (?::uuid[])', [column, ids])
      .delete(),
  );
}

async function insertRelations(
  transaction: TenantTransaction,
  entities: EntityToWrite[],
): Promise<void> {
  const rows = entities.flatMap(entity =>
    entity.relations.map(({ type, targetRef }) => ({
      originating_entity_id: entity.entityId,
      source_entity_ref: entity.ref,
      type,
      target_entity_ref: targetRef,
    })),
  );
  for (const chunk of chunksOf(rows, { rows: ROWS })) {
    await transaction.query(transaction.insertInto('relations', chunk));
  }
}

/** Notes who owns entities, in rows that are there or in new ones. */
async function putRefreshState(
  transaction: TenantTransaction,
  source: string | null,
  ids: string[],
): Promise<void> {
  for (const chunk of chunksOf(ids, { rows: ROWS })) {
    await transaction.query(
      transaction
        .insertInto(
          'refresh_state',
          chunk.map(entityId => ({
            entity_id: entityId,
            location_key: source,
          })),
        )
        .onConflict()
        .ignore(),
    );
    await transaction.query(
      transaction
        .table('refresh_state')
        .whereRaw('entity_id = any (?::uuid[])', [chunk])
        .whereRaw('location_key is distinct from ?::text', [source])
        .update({ location_key: source }),
    );
  }
}

async function eachChunk(
  entities: EntityToWrite[],
  maxRows: number,
  write: (rows: EntityRow[]) => Promise<void>,
): Promise<void> {
  // One JSON at a time is made of the entities, not all of them at once.
  const rows = (function* make() {
    for (const entity of entities) {
      yield { entity, finalEntity: entity.toFinalEntity(entity.entityId) };
    }
  })();
  for (const chunk of chunksOf(rows, {
    rows: maxRows,
    bytes: BYTES,
    sizeOf: ({ finalEntity }) => finalEntity.length,
  })) {
    await write(chunk);
  }
}

/** Mutations wait for each other, but others may write to the tables too. */
function expectAll(changed: unknown[], expected: unknown[]): void {
  if (changed.length !== expected.length) {
    throw new ConflictError(
      'Entities were changed by another writer at the same time, try again',
    );
  }
}

/** Splits items into parts of at most so many rows and, if there are several, bytes. */
export function* chunksOf<T>(
  items: Iterable<T>,
  limits: { rows: number; bytes?: number; sizeOf?: (item: T) => number },
): Generator<T[]> {
  const { rows, bytes = Infinity, sizeOf = () => 0 } = limits;
  let chunk: T[] = [];
  let size = 0;
  for (const item of items) {
    const itemSize = sizeOf(item);
    if (
      chunk.length > 0 &&
      (chunk.length === rows || size + itemSize > bytes)
    ) {
      yield chunk;
      chunk = [];
      size = 0;
    }
    chunk.push(item);
    size += itemSize;
  }
  if (chunk.length > 0) {
    yield chunk;
  }
}

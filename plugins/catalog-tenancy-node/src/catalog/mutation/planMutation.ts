import { ConflictError } from '@backstage/errors';
import { randomUUID } from 'node:crypto';
import type { TenantTransaction } from '../../database/TenantDatabase';
import type { PreparedEntity, PreparedMutation } from './prepareMutation';

/** An entity that gets a row, or a new content of its row. */
export interface EntityToWrite extends PreparedEntity {
  entityId: string;
}

/** What a mutation comes to, with the entities as they are. */
export interface MutationPlan {
  source: string | null;
  inserted: EntityToWrite[];
  updated: EntityToWrite[];
  revived: EntityToWrite[];
  unchanged: number;
  /** The ids of unchanged entities that get an owner: they had none. */
  claimed: string[];
  /** The ids of entities that are deleted. */
  deleted: string[];
}

interface StoredEntity {
  entity_id: string;
  entity_ref: string;
  hash: string;
  live: boolean;
  /** The owner, by its `location_key`. A deleted entity has none. */
  source: string | null;
}

/**
 * Compares a mutation with the entities as they are. It changes nothing.
 *
 * @throws `ConflictError` if an entity belongs to another source
 */
export async function planMutation(
  transaction: TenantTransaction,
  mutation: PreparedMutation,
): Promise<MutationPlan> {
  const { source, entities } = mutation;
  const stored = await readStored(transaction, mutation);
  const byRef = new Map(stored.map(row => [row.entity_ref, row]));
  const plan: MutationPlan = {
    source,
    inserted: [],
    updated: [],
    revived: [],
    unchanged: 0,
    claimed: [],
    deleted: [],
  };
  for (const entity of entities) {
    addEntity(plan, entity, byRef.get(entity.ref));
  }
  for (const row of toDelete(mutation, stored, byRef)) {
    refuseOtherSource(row, source);
    plan.deleted.push(row.entity_id);
  }
  return plan;
}

function addEntity(
  plan: MutationPlan,
  entity: PreparedEntity,
  row: StoredEntity | undefined,
): void {
  if (!row) {
    plan.inserted.push({ ...entity, entityId: randomUUID() });
    return;
  }
  const write = { ...entity, entityId: row.entity_id };
  if (!row.live) {
    plan.revived.push(write);
    return;
  }
  refuseOtherSource(row, plan.source);
  if (row.hash !== entity.hash) {
    plan.updated.push(write);
    return;
  }
  plan.unchanged += 1;
  if (row.source !== plan.source) {
    plan.claimed.push(row.entity_id);
  }
}

function toDelete(
  { type, source, entities, removedRefs }: PreparedMutation,
  stored: StoredEntity[],
  byRef: Map<string, StoredEntity>,
): StoredEntity[] {
  if (type === 'full') {
    const kept = new Set(entities.map(({ ref }) => ref));
    return stored.filter(
      row => row.live && row.source === source && !kept.has(row.entity_ref),
    );
  }
  return removedRefs
    .map(ref => byRef.get(ref))
    .filter((row): row is StoredEntity => row !== undefined && row.live);
}

/** An entity without an owner can be taken, as in the stock catalog. */
function refuseOtherSource(row: StoredEntity, source: string | null): void {
  if (row.source !== null && row.source !== source) {
    throw new ConflictError(
      `Entity "${row.entity_ref}" belongs to another source, "${row.source}"`,
    );
  }
}

/**
 * The entities that the mutation names, and for a full one all live ones.
 *
 * They are put together with their owners here. PostgreSQL would join them entity by
 * entity where it reckons with few of them, as it does for a tenant that it has no
 * statistics of: for thousands that takes minutes.
 */
async function readStored(
  transaction: TenantTransaction,
  { type, entities, removedRefs }: PreparedMutation,
): Promise<StoredEntity[]> {
  const refs = [...entities.map(({ ref }) => ref), ...removedRefs];
  const rows = await transaction.query<Omit<StoredEntity, 'source'>>(
    transaction
      .table('entities', 'e')
      .where(where => {
        where.whereRaw('e.entity_ref = any (?::text[])', [refs]);
        if (type === 'full') {
          where.orWhereNull('e.deleted_at');
        }
      })
      .select(
        'e.entity_id',
        'e.entity_ref',
        'e.hash',
        transaction.knex.raw('e.deleted_at is null as live'),
      ),
  );
  const owners = await transaction.query<{
    entity_id: string;
    location_key: string | null;
  }>(
    transaction
      .table('refresh_state', 'r')
      .whereNotNull('r.location_key')
      .modify(query => {
        if (type === 'delta') {
          query.whereRaw('r.entity_id = any (?::uuid[])', [
            rows.map(row => row.entity_id),
          ]);
        }
      })
      .select('r.entity_id', 'r.location_key'),
  );
  const sources = new Map(owners.map(row => [row.entity_id, row.location_key]));
  return rows.map(row => ({
    ...row,
    source: sources.get(row.entity_id) ?? null,
  }));
}

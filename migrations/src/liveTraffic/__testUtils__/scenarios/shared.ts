import { isDeletable, SHARED_REFS } from '../expectedRows';
import type { Row } from '../expectedRows';
import type { Scenario, Transaction } from '../Transaction';
import { content } from './entity';
import { anyTime } from './values';

/**
 * Up to three entities that all writers write, each once: in the same order in
 * every transaction, so that the application has no deadlocks of its own.
 */
export const writeShared: Scenario = {
  name: 'write shared entities',
  weight: 10,
  async run(tx) {
    const { random } = tx;
    for (const ref of random.sample(SHARED_REFS, 3).sort()) {
      const actions = isDeletable(ref)
        ? [upsertShared, upsertShared, update, relate, remove]
        : [upsertShared, update, relate];
      await random.pick(actions)(tx, ref);
    }
  },
};

/** Draws the place of a write in the order in which writers had the lock. */
async function drawOrder(tx: Transaction): Promise<number> {
  const { rows } = await tx.query('draw an order', {
    text: `select nextval('traffic.shared_order')::int as order`,
    values: [],
  });
  return rows[0].order;
}

async function upsertShared(tx: Transaction, ref: string): Promise<void> {
  const sent: Row = {
    entity_id: tx.random.uuid(),
    entity_ref: ref,
    entity_kind: 'shared',
    entity_namespace: 'default',
    entity_name: ref.replace('shared:default/', ''),
    ...content(tx),
    stitch_ticket: '0',
    created_at: anyTime(tx.random),
    deleted_at: null,
  };
  const { row } = await tx.upsert({
    table: 'entities',
    key: 'entity_ref',
    sent,
    assignments: {
      final_entity: 'excluded.final_entity',
      hash: 'excluded.hash',
      updated_at: 'excluded.updated_at',
      stitch_ticket: '(entities.stitch_ticket::int + 1)::text',
    },
    returning: 'entity_id, stitch_ticket',
  });
  const { entity_id: entityId, stitch_ticket: ticket } = row;
  const order = await drawOrder(tx);
  tx.expected.share({ kind: 'upsert', order, ref, entityId, sent, ticket });
}

async function update(tx: Transaction, ref: string): Promise<void> {
  const sent = content(tx);
  const { rows } = await tx.query('update a shared entity', {
    text:
      'update entities set final_entity = $2, hash = $3, updated_at = $4, ' +
      'stitch_ticket = (stitch_ticket::int + 1)::text ' +
      'where entity_ref = $1 {scope} returning entity_id, stitch_ticket',
    values: [ref, sent.final_entity, sent.hash, sent.updated_at],
  });
  for (const { entity_id: entityId, stitch_ticket: ticket } of rows) {
    const order = await drawOrder(tx);
    tx.expected.share({ kind: 'upsert', order, ref, entityId, sent, ticket });
  }
}

/** The id of a shared entity that the statement has locked, if it is there. */
async function lockedBy(
  tx: Transaction,
  what: string,
  text: string,
  ref: string,
): Promise<string | undefined> {
  const { rows } = await tx.query(what, { text, values: [ref] });
  return rows[0]?.entity_id;
}

async function remove(tx: Transaction, ref: string): Promise<void> {
  const entityId = await lockedBy(
    tx,
    'delete a shared entity',
    'delete from entities where entity_ref = $1 {scope} returning entity_id',
    ref,
  );
  if (entityId) {
    const order = await drawOrder(tx);
    tx.expected.share({ kind: 'delete', order, ref, entityId });
  }
}

/** Adds a relation, under a lock that keeps the entity from being deleted. */
async function relate(tx: Transaction, ref: string): Promise<void> {
  const entityId = await lockedBy(
    tx,
    'lock a shared entity for a relation',
    'select entity_id from entities where entity_ref = $1 {scope} for key share',
    ref,
  );
  if (entityId) {
    const order = await drawOrder(tx);
    const relation: Row = {
      originating_entity_id: entityId,
      source_entity_ref: ref,
      type: 'ownedBy',
      target_entity_ref: `user:default/${tx.uniqueText()}`,
      weight: '1.10',
      noted_at: anyTime(tx.random),
    };
    await tx.insert('relations', [relation]);
    tx.expected.share({ kind: 'relate', order, ref, entityId, relation });
  }
}

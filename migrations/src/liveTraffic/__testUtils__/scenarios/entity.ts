import type { RecordedEntity, Row } from '../expectedRows';
import type { Transaction } from '../Transaction';
import { anyJson, anyName, anyTime } from './values';

const KINDS = ['component', 'api', 'resource'];

/** The columns of a reference that no other entity has. */
export function newRef(tx: Transaction): Row {
  const kind = tx.random.pick(KINDS);
  const name = `${anyName(tx.random)}-${tx.uniqueText()}`;
  return {
    entity_ref: `${kind}:default/${name}`,
    entity_kind: kind,
    entity_namespace: 'default',
    entity_name: name,
  };
}

/** What changes whenever an entity is processed again. */
export function content(tx: Transaction): Row {
  return {
    final_entity: anyJson(tx.random),
    hash: tx.uniqueText(),
    updated_at: anyTime(tx.random),
  };
}

export function entityRow(tx: Transaction): Row {
  return {
    entity_id: tx.random.uuid(),
    ...newRef(tx),
    ...content(tx),
    stitch_ticket: tx.random.chance(0.5) ? tx.uniqueText() : null,
    created_at: anyTime(tx.random),
    deleted_at: tx.random.chance(0.1) ? anyTime(tx.random) : null,
  };
}

/** An entity of the writer's own, a new one if it has none. */
export async function pickEntity(tx: Transaction): Promise<RecordedEntity> {
  const all = tx.expected.all();
  return all.length > 0 ? tx.random.pick(all) : addEntity(tx);
}

export async function addEntity(tx: Transaction): Promise<RecordedEntity> {
  const row = tx.random.chance(0.3)
    ? await insertWithDefaults(tx, entityRow(tx))
    : await insertAsSent(tx, entityRow(tx));
  const entity = { row, relations: [] };
  tx.expected.put(entity);
  return entity;
}

export async function insertAsSent(tx: Transaction, row: Row): Promise<Row> {
  await tx.insert('entities', [row]);
  return row;
}

/** Leaves what has a default to the database. */
async function insertWithDefaults(tx: Transaction, row: Row): Promise<Row> {
  const { entity_id, entity_namespace, created_at, updated_at, ...sent } = row;
  const { rows } = await tx.insert(
    'entities',
    [sent],
    'returning entity_id, entity_namespace, created_at::text, updated_at::text',
  );
  return { ...sent, ...rows[0] };
}

export async function deleteEntity(
  tx: Transaction,
  entity: RecordedEntity,
): Promise<void> {
  await tx.query(
    'delete entity',
    {
      text: 'delete from entities where entity_ref = $1 {scope}',
      values: [entity.row.entity_ref],
    },
    1,
  );
  tx.expected.remove(entity);
}

export async function changeEntity(
  tx: Transaction,
  entity: RecordedEntity,
  changes: Row,
): Promise<RecordedEntity> {
  const columns = Object.keys(changes);
  const list = columns.map((column, index) => `${column} = $${index + 2}`);
  await tx.query(
    `update ${columns.join(', ')} of an entity`,
    {
      text: `update entities set ${list.join(
        ', ',
      )} where entity_id = $1 {scope}`,
      values: [entity.row.entity_id, ...Object.values(changes)],
    },
    1,
  );
  const changed = { ...entity, row: { ...entity.row, ...changes } };
  tx.expected.put(changed);
  return changed;
}

/** The columns that make up an entity's reference. */
export function pickRef(row: Row): Row {
  const { entity_ref, entity_kind, entity_namespace, entity_name } = row;
  return { entity_ref, entity_kind, entity_namespace, entity_name };
}

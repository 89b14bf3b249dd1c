import type { RecordedEntity, Row } from '../expectedRows';
import type { Scenario, Transaction } from '../Transaction';
import { pickEntity } from './entity';
import { anyName, anyTime, anyWeight } from './values';

const TYPES = ['ownedBy', 'dependsOn', 'partOf'];

function relationRow(tx: Transaction, { row }: RecordedEntity): Row {
  return {
    originating_entity_id: row.entity_id,
    source_entity_ref: row.entity_ref,
    type: tx.random.pick(TYPES),
    target_entity_ref: `group:default/${anyName(tx.random)}`,
    weight: anyWeight(tx.random),
    noted_at: anyTime(tx.random),
  };
}

/** Inserts relations of an entity, some of them twice: they have no key. */
export async function addRelations(
  tx: Transaction,
  entity: RecordedEntity,
): Promise<RecordedEntity> {
  const { random } = tx;
  const row = relationRow(tx, entity);
  const rows = random.chance(0.3)
    ? [row, row]
    : [row, relationRow(tx, entity), relationRow(tx, entity)];
  const added = random.chance(0.5)
    ? await insertWithDefaults(tx, rows)
    : await insertAsSent(tx, rows);
  const changed = { ...entity, relations: [...entity.relations, ...added] };
  tx.expected.put(changed);
  return changed;
}

async function insertAsSent(tx: Transaction, rows: Row[]): Promise<Row[]> {
  await tx.insert('relations', rows);
  return rows;
}

/** Leaves what has a default to the database. */
async function insertWithDefaults(
  tx: Transaction,
  rows: Row[],
): Promise<Row[]> {
  const sent = rows.map(({ weight, noted_at, ...rest }) => rest);
  const { rows: defaults } = await tx.insert(
    'relations',
    sent,
    'returning noted_at::text',
  );
  return sent.map((row, index) => ({
    ...row,
    weight: '1',
    noted_at: defaults[index].noted_at,
  }));
}

async function deleteRelations(
  tx: Transaction,
  entity: RecordedEntity,
  type: string | undefined,
): Promise<RecordedEntity> {
  const kept = entity.relations.filter(
    relation => type !== undefined && relation.type !== type,
  );
  const rows = entity.relations.length - kept.length;
  await tx.query(
    'delete relations',
    {
      text:
        'delete from relations where originating_entity_id = $1 ' +
        'and type = coalesce($2, type) {scope}',
      values: [entity.row.entity_id, type],
    },
    rows,
  );
  const changed = { ...entity, relations: kept };
  tx.expected.put(changed);
  return changed;
}

/** What a catalog does whenever it has processed an entity again. */
const replaceRelations: Scenario = {
  name: 'replace relations',
  weight: 8,
  async run(tx) {
    const entity = await pickEntity(tx);
    const left = await deleteRelations(tx, entity, undefined);
    await addRelations(tx, left);
  },
};

const deleteSomeRelations: Scenario = {
  name: 'delete relations of a type',
  weight: 3,
  async run(tx) {
    await deleteRelations(tx, await pickEntity(tx), tx.random.pick(TYPES));
  },
};

const updateRelations: Scenario = {
  name: 'update relations',
  weight: 5,
  async run(tx) {
    const entity = await pickEntity(tx);
    const { entity_id } = entity.row;
    const change: Row = tx.random.chance(0.5)
      ? { target_entity_ref: `user:default/${tx.uniqueText()}` }
      : { weight: anyWeight(tx.random) };
    const [[column, value]] = Object.entries(change);
    const rows = entity.relations.length;
    await tx.query(
      `update ${column} of relations`,
      {
        text:
          `update relations set ${column} = $2 ` +
          'where originating_entity_id = $1 {scope}',
        values: [entity_id, value],
      },
      rows,
    );
    const relations = entity.relations.map(row => ({ ...row, ...change }));
    tx.expected.put({ ...entity, relations });
  },
};

/** A relation of an entity that does not exist is refused at all times. */
const refuseOrphan: Scenario = {
  name: 'refuse an orphan relation',
  weight: 1,
  async run(tx) {
    const entity = await pickEntity(tx);
    const orphan = relationRow(tx, entity);
    await tx.refused('23503', () =>
      tx.insert('relations', [
        { ...orphan, originating_entity_id: tx.random.uuid() },
      ]),
    );
  },
};

export const relationScenarios = [
  replaceRelations,
  deleteSomeRelations,
  updateRelations,
  refuseOrphan,
];

import type { RecordedEntity, Row } from '../expectedRows';
import type { Scenario, Transaction } from '../Transaction';
import { pickEntity } from './entity';
import { anyJson, anyName, anyTime } from './values';

/** The columns that are sent; the others are the database's to fill. */
function refreshRow(tx: Transaction, entity: RecordedEntity): Row {
  return {
    entity_id: entity.row.entity_id,
    location_key: tx.random.chance(0.2)
      ? null
      : `url:${tx.uniqueText()}/${anyName(tx.random)}`,
    next_update_at: anyTime(tx.random),
    errors: newErrors(tx),
  };
}

/** JSON that differs from all before. */
function newErrors(tx: Transaction): string {
  return `[${JSON.stringify(tx.uniqueText())}, ${anyJson(tx.random)}]`;
}

export async function addRefreshState(
  tx: Transaction,
  entity: RecordedEntity,
): Promise<RecordedEntity> {
  const sent = refreshRow(tx, entity);
  await tx.insert('refresh_state', [sent]);
  return put(tx, entity, { ...sent, attempts: '0' });
}

function put(
  tx: Transaction,
  entity: RecordedEntity,
  row: Row | undefined,
): RecordedEntity {
  const changed = { ...entity, refreshState: row };
  tx.expected.put(changed);
  return changed;
}

const updateRefreshState: Scenario = {
  name: 'update refresh state',
  weight: 8,
  async run(tx) {
    const entity = await pickEntity(tx);
    const before = entity.refreshState;
    const change: Row = tx.random.chance(0.5)
      ? { errors: newErrors(tx), next_update_at: anyTime(tx.random) }
      : { next_update_at: anyTime(tx.random), location_key: null };
    const [[first, one], [second, two]] = Object.entries(change);
    await tx.query(
      'update refresh_state',
      {
        text:
          `update refresh_state set ${first} = $2, ${second} = $3 ` +
          'where entity_id = $1 {scope}',
        values: [entity.row.entity_id, one, two],
      },
      before ? 1 : 0,
    );
    if (before) {
      put(tx, entity, { ...before, ...change });
    }
  },
};

const replaceRefreshState: Scenario = {
  name: 'delete or insert refresh state',
  weight: 5,
  async run(tx) {
    const entity = await pickEntity(tx);
    if (!entity.refreshState) {
      await addRefreshState(tx, entity);
      return;
    }
    await tx.query(
      'delete refresh_state',
      {
        text: 'delete from refresh_state where entity_id = $1 {scope}',
        values: [entity.row.entity_id],
      },
      1,
    );
    const left = put(tx, entity, undefined);
    if (tx.random.chance(0.5)) {
      await addRefreshState(tx, left);
    }
  },
};

const upsertRefreshState: Scenario = {
  name: 'upsert refresh state',
  weight: 6,
  async run(tx) {
    const entity = await pickEntity(tx);
    const sent = refreshRow(tx, entity);
    await tx.upsert({
      table: 'refresh_state',
      key: 'entity_id',
      sent,
      assignments: {
        location_key: 'excluded.location_key',
        errors: 'excluded.errors',
        next_update_at: 'excluded.next_update_at',
      },
      returning: 'attempts::text',
    });
    put(tx, entity, { ...sent, attempts: '0' });
  },
};

export const refreshStateScenarios = [
  updateRefreshState,
  replaceRefreshState,
  upsertRefreshState,
];

import type { Row } from '../expectedRows';
import { SilentFailure } from '../Transaction';
import type { Scenario, Transaction } from '../Transaction';
import {
  addEntity,
  changeEntity,
  content,
  deleteEntity,
  entityRow,
  insertAsSent,
  newRef,
  pickEntity,
  pickRef,
} from './entity';
import { addRefreshState } from './refreshState';
import { addRelations } from './relations';
import { anyTime } from './values';

export const createEntity: Scenario = {
  name: 'create an entity',
  weight: 10,
  async run(tx) {
    let entity = await addEntity(tx);
    entity = await addRelations(tx, entity);
    if (tx.random.chance(0.8)) {
      await addRefreshState(tx, entity);
    }
  },
};

const updateEntity: Scenario = {
  name: 'update an entity',
  weight: 15,
  async run(tx) {
    const entity = await pickEntity(tx);
    if (tx.random.chance(0.3)) {
      await tx.query(
        'lock an entity',
        {
          text: 'select hash from entities where entity_id = $1 {scope} for update',
          values: [entity.row.entity_id],
        },
        1,
      );
    }
    const more: Row = tx.random.chance(0.5)
      ? { stitch_ticket: null }
      : { deleted_at: anyTime(tx.random) };
    await changeEntity(tx, entity, { ...content(tx), ...more });
  },
};

const renameEntity: Scenario = {
  name: 'rename an entity',
  weight: 4,
  async run(tx) {
    await changeEntity(tx, await pickEntity(tx), newRef(tx));
  },
};

/** Two entities get each other's reference, by way of a third. */
const swapRefs: Scenario = {
  name: 'swap two references',
  weight: 4,
  async run(tx) {
    const [one, other] = tx.random.sample(tx.expected.all(), 2);
    if (!other) {
      return;
    }
    const moved = await changeEntity(tx, one, newRef(tx));
    await changeEntity(tx, other, pickRef(one.row));
    await changeEntity(tx, moved, pickRef(other.row));
  },
};

export const removeEntity: Scenario = {
  name: 'delete an entity',
  weight: 8,
  async run(tx) {
    await deleteEntity(tx, await pickEntity(tx));
  },
};

/** The same reference comes back, with the same id or another one. */
const recreateEntity: Scenario = {
  name: 'delete and insert an entity',
  weight: 5,
  async run(tx) {
    const entity = await pickEntity(tx);
    await deleteEntity(tx, entity);
    const { entity_id } = tx.random.chance(0.5) ? entity.row : entityRow(tx);
    const row = { ...entityRow(tx), ...pickRef(entity.row), entity_id };
    const again = { row: await insertAsSent(tx, row), relations: [] };
    tx.expected.put(again);
    await addRelations(tx, again);
  },
};

const upsertEntity: Scenario = {
  name: 'upsert an entity',
  weight: 10,
  async run(tx) {
    const before = tx.random.pick([undefined, ...tx.expected.all()]);
    const sent = { ...entityRow(tx), ...(before && pickRef(before.row)) };
    const { inserted } = await tx.upsert({
      table: 'entities',
      key: 'entity_ref',
      sent,
      assignments: {
        final_entity: 'excluded.final_entity',
        hash: 'excluded.hash',
        updated_at: 'excluded.updated_at',
      },
      returning: 'entity_id',
    });
    if (inserted !== !before) {
      throw new SilentFailure(
        `upsert an entity: ${inserted ? 'inserted' : 'updated'} it`,
      );
    }
    const { final_entity, hash, updated_at } = sent;
    tx.expected.put(
      before
        ? { ...before, row: { ...before.row, final_entity, hash, updated_at } }
        : { row: sent, relations: [] },
    );
  },
};

/** ON CONFLICT DO NOTHING, which says by the number of rows what it did. */
const insertUnlessThere: Scenario = {
  name: 'insert an entity unless it is there',
  weight: 4,
  async run(tx) {
    const before = tx.random.chance(0.5) ? await pickEntity(tx) : undefined;
    const sent = { ...entityRow(tx), ...(before && pickRef(before.row)) };
    const { text, values } = tx.insertStatement('entities', [sent]);
    await tx.query(
      'insert an entity unless it is there',
      { text: `${text} on conflict do nothing`, values },
      before ? 0 : 1,
    );
    if (!before) {
      tx.expected.put({ row: sent, relations: [] });
    }
  },
};

/** What a writer has committed, it must find again. */
const readEntity: Scenario = {
  name: 'read an entity',
  weight: 6,
  async run(tx) {
    const { row, relations, refreshState } = await pickEntity(tx);
    const { rows } = await tx.query(
      'read an entity',
      {
        text: `select entity_ref, hash,
            (select count(*)::int from relations r
              where r.originating_entity_id = e.entity_id) as relations,
            (select attempts::text from refresh_state s
              where s.entity_id = e.entity_id) as attempts
          from entities e where entity_id = $1 {scope}`,
        values: [row.entity_id],
      },
      1,
    );
    const expected = {
      entity_ref: row.entity_ref,
      hash: row.hash,
      relations: relations.length,
      attempts: refreshState?.attempts ?? null,
    };
    if (JSON.stringify(rows[0]) !== JSON.stringify(expected)) {
      throw new SilentFailure(
        `read an entity: ${JSON.stringify(rows[0])} instead of ` +
          `${JSON.stringify(expected)}`,
      );
    }
  },
};

/** A reference that is taken is refused at all times. */
const refuseDuplicate: Scenario = {
  name: 'refuse a reference that is taken',
  weight: 1,
  async run(tx) {
    const taken = pickRef((await pickEntity(tx)).row);
    await tx.refused('23505', () =>
      tx.insert('entities', [{ ...entityRow(tx), ...taken }]),
    );
  },
};

const BULK = 'bulk';
const BULK_COLUMNS = [
  'entity_id',
  'entity_ref',
  'entity_kind',
  'entity_name',
  'final_entity',
  'hash',
  'created_at',
  'updated_at',
];
const BULK_TYPES = 'uuid text text text jsonb text timestamptz timestamptz'
  .split(' ')
  .map((type, index) => `$${index + 1}::${type}[]`);

async function insertBulk(tx: Transaction): Promise<void> {
  const rows = Array.from({ length: tx.sizes.bigTransaction }, (): Row => {
    const entity_name = tx.uniqueText();
    return {
      ...entityRow(tx),
      entity_kind: BULK,
      entity_name,
      entity_ref: `${BULK}:default/${entity_name}`,
      final_entity: `{"n": ${tx.random.next()}}`,
      stitch_ticket: null,
      deleted_at: null,
    };
  });
  const { tenantId } = tx;
  const values: unknown[] = BULK_COLUMNS.map(column =>
    rows.map(row => row[column]),
  );
  await tx.query(
    'insert many entities',
    {
      text:
        `insert into entities (${BULK_COLUMNS.join(', ')}` +
        `${tenantId ? ', tenant_id' : ''}) ` +
        `select *${tenantId ? `, $${values.length + 1}::uuid` : ''} ` +
        `from unnest(${BULK_TYPES.join(', ')})`,
      values: tenantId ? [...values, tenantId] : values,
    },
    rows.length,
  );
  rows.forEach(row => tx.expected.put({ row, relations: [] }));
}

/** One transaction over very many rows, such as a sync of an organisation. */
export const writeMany: Scenario = {
  name: 'write many entities',
  weight: 1,
  async run(tx) {
    const bulk = tx.expected
      .all()
      .filter(({ row }) => row.entity_kind === BULK);
    if (bulk.length === 0) {
      await insertBulk(tx);
      return;
    }
    const ids = bulk.map(({ row }) => row.entity_id);
    if (tx.random.chance(0.5)) {
      const hash = tx.uniqueText();
      await tx.query(
        'update many entities',
        {
          text: 'update entities set hash = $2 where entity_id = any ($1) {scope}',
          values: [ids, hash],
        },
        ids.length,
      );
      bulk.forEach(entity =>
        tx.expected.put({ ...entity, row: { ...entity.row, hash } }),
      );
      return;
    }
    await tx.query(
      'delete many entities',
      {
        text: 'delete from entities where entity_id = any ($1) {scope}',
        values: [ids],
      },
      ids.length,
    );
    bulk.forEach(entity => tx.expected.remove(entity));
  },
};

export const entityScenarios = [
  createEntity,
  updateEntity,
  renameEntity,
  swapRefs,
  removeEntity,
  recreateEntity,
  upsertEntity,
  insertUnlessThere,
  readEntity,
  refuseDuplicate,
];

import { insertStatement } from '../application';
import type { Row } from '../rows';
import { SilentFailure } from '../Transaction';
import { anyTime } from '../values';
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
import type { Scenario } from './Scenario';
import { upsert } from './upsert';

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
        { rows: 1 },
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
    const [one, other] = tx.random.sample(tx.draft.all(), 2);
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
    tx.draft.put(again);
    await addRelations(tx, again);
  },
};

const upsertEntity: Scenario = {
  name: 'upsert an entity',
  weight: 10,
  async run(tx) {
    const before = tx.random.pick([undefined, ...tx.draft.all()]);
    const sent = { ...entityRow(tx), ...(before && pickRef(before.row)) };
    const { inserted } = await upsert(tx, {
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
    tx.draft.put(
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
    const { text, values } = insertStatement(tx.application, 'entities', [
      sent,
    ]);
    await tx.query(
      'insert an entity unless it is there',
      { text: `${text} on conflict do nothing`, values },
      { rows: before ? 0 : 1 },
    );
    if (!before) {
      tx.draft.put({ row: sent, relations: [] });
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
      { rows: 1 },
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

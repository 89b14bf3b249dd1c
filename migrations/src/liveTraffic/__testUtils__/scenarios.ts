import { SHARED_REFS } from './shadow';
import { DeliberateRollback } from './Transaction';
import type { Row, Scenario, Transaction } from './Transaction';
import { anyJson, anyName, anyTime, anyWeight } from './values';

const KINDS = ['component', 'api', 'resource'];
const TYPES = ['ownedBy', 'dependsOn', 'partOf'];
const BULK = 'bulk';

/** The columns of a reference that no other entity has. */
function newRef(tx: Transaction, kind = tx.random.pick(KINDS)): Row {
  const name = `${anyName(tx.random)}-${tx.uniqueText()}`;
  return {
    entity_ref: `${kind}:default/${name}`,
    entity_kind: kind,
    entity_namespace: 'default',
    entity_name: name,
  };
}

/** What changes whenever an entity is processed again. */
function content(tx: Transaction): Row {
  return {
    final_entity: anyJson(tx.random),
    hash: tx.uniqueText(),
    updated_at: anyTime(tx.random),
  };
}

function entityRow(tx: Transaction, ref = newRef(tx)): Row {
  return {
    entity_id: tx.random.uuid(),
    ...ref,
    ...content(tx),
    stitch_ticket: tx.random.chance(0.5) ? tx.uniqueText() : null,
    created_at: anyTime(tx.random),
    deleted_at: tx.random.chance(0.1) ? anyTime(tx.random) : null,
  };
}

function relationRow(tx: Transaction, { entity_id, entity_ref }: Row): Row {
  return {
    originating_entity_id: entity_id,
    source_entity_ref: entity_ref,
    type: tx.random.pick(TYPES),
    target_entity_ref: `group:default/${anyName(tx.random)}`,
    weight: anyWeight(tx.random),
    noted_at: anyTime(tx.random),
  };
}

/** The columns that are sent; the others are the database's to fill. */
function refreshRow(tx: Transaction, { entity_id }: Row): Row {
  return {
    entity_id,
    location_key: tx.random.chance(0.2) ? null : `url:${tx.uniqueText()}`,
    next_update_at: anyTime(tx.random),
    errors: `[${JSON.stringify(tx.uniqueText())}, ${anyJson(tx.random)}]`,
  };
}

/** The columns that make up an entity's reference. */
function refOf(row: Row): Row {
  const { entity_ref, entity_kind, entity_namespace, entity_name } = row;
  return { entity_ref, entity_kind, entity_namespace, entity_name };
}

async function addEntity(tx: Transaction): Promise<Row> {
  const row = entityRow(tx);
  const { entity_namespace, created_at, updated_at, ...sent } = row;
  await tx.insert('entities', [tx.random.chance(0.3) ? sent : row]);
  return row;
}

/** An entity of the writer's own, a new one if it has none. */
async function pickEntity(tx: Transaction): Promise<Row> {
  const [entity] = await tx.pick();
  return entity ?? addEntity(tx);
}

/** Adds relations, some of them twice: they have no key. */
async function addRelations(tx: Transaction, entity: Row): Promise<void> {
  const row = relationRow(tx, entity);
  const rows = tx.random.chance(0.3)
    ? [row, row]
    : [row, relationRow(tx, entity), relationRow(tx, entity)];
  const withDefaults = rows.map(({ weight, noted_at, ...sent }) => sent);
  await tx.insert('relations', tx.random.chance(0.5) ? withDefaults : rows);
}

async function changeEntity(
  tx: Transaction,
  { entity_id }: Row,
  changes: Row,
): Promise<void> {
  const list = Object.keys(changes).map(
    (column, index) => `${column} = $${index + 2}`,
  );
  await tx.write(
    `update {entities} set ${list} where entity_id = $1 {scope}`,
    entity_id,
    ...Object.values(changes),
  );
}

const deleteEntity = (tx: Transaction, { entity_ref }: Row) =>
  tx.write('delete from {entities} where entity_ref = $1 {scope}', entity_ref);

const deleteRelations = (tx: Transaction, { entity_id }: Row, type?: string) =>
  tx.write(
    `delete from {relations} where originating_entity_id = $1
        and type = coalesce($2::text, type) {scope}`,
    entity_id,
    type,
  );

const createEntity: Scenario = {
  name: 'create an entity',
  weight: 10,
  async run(tx) {
    const row = entityRow(tx);
    await tx.insert('entities', [row]);
    await addRelations(tx, row);
    if (tx.random.chance(0.8)) {
      await tx.insert('refresh_state', [refreshRow(tx, row)]);
    }
  },
};

const removeEntity: Scenario = {
  name: 'delete an entity',
  weight: 8,
  run: async tx => deleteEntity(tx, await pickEntity(tx)),
};

// On entities that only the writer itself touches.
const own: readonly Scenario[] = [
  createEntity,
  removeEntity,
  {
    name: 'update an entity',
    weight: 15,
    async run(tx) {
      const entity = await pickEntity(tx);
      if (tx.random.chance(0.3)) {
        await tx.write(
          'select hash from {entities} where entity_id = $1 {scope} for update',
          entity.entity_id,
        );
      }
      const more: Row = tx.random.chance(0.5)
        ? { stitch_ticket: null }
        : { deleted_at: anyTime(tx.random) };
      await changeEntity(tx, entity, { ...content(tx), ...more });
    },
  },
  {
    name: 'rename an entity',
    weight: 4,
    run: async tx => changeEntity(tx, await pickEntity(tx), newRef(tx)),
  },
  {
    // Two entities get each other's reference, by way of a third.
    name: 'swap two references',
    weight: 4,
    async run(tx) {
      const [one, other] = await tx.pick(2);
      if (other) {
        await changeEntity(tx, one, newRef(tx));
        await changeEntity(tx, other, refOf(one));
        await changeEntity(tx, one, refOf(other));
      }
    },
  },
  {
    // The same reference comes back, with the same id or another one.
    name: 'delete and insert an entity',
    weight: 5,
    async run(tx) {
      const before = await pickEntity(tx);
      const { entity_id } = before;
      const row = entityRow(tx, refOf(before));
      const again = tx.random.chance(0.5) ? { ...row, entity_id } : row;
      await deleteEntity(tx, before);
      await tx.insert('entities', [again]);
      await addRelations(tx, again);
    },
  },
  {
    name: 'upsert an entity',
    weight: 10,
    async run(tx) {
      const [before] = tx.random.chance(0.7) ? await tx.pick() : [];
      const row = entityRow(tx, before && refOf(before));
      const changed = ['final_entity', 'hash', 'updated_at'];
      await tx.upsert('entities', 'entity_ref', row, changed);
    },
  },
  {
    name: 'insert an entity unless it is there',
    weight: 4,
    async run(tx) {
      const [before] = tx.random.chance(0.5) ? await tx.pick() : [];
      await tx.insert('entities', [entityRow(tx, before && refOf(before))], {
        conflict: 'on conflict do nothing',
        expected: before ? 0 : 1,
      });
    },
  },
  {
    name: 'refuse a reference that is taken',
    weight: 1,
    async run(tx) {
      const [taken] = await tx.pick();
      if (taken) {
        await tx.refused('23505', () =>
          tx.insert('entities', [entityRow(tx, refOf(taken))]),
        );
      }
    },
  },
  {
    // What a catalog does whenever it has processed an entity again.
    name: 'replace relations',
    weight: 8,
    async run(tx) {
      const entity = await pickEntity(tx);
      await deleteRelations(tx, entity);
      await addRelations(tx, entity);
    },
  },
  {
    name: 'delete relations of a type',
    weight: 3,
    run: async tx =>
      deleteRelations(tx, await pickEntity(tx), tx.random.pick(TYPES)),
  },
  {
    name: 'update relations',
    weight: 5,
    async run(tx) {
      const { entity_id } = await pickEntity(tx);
      const [column, value] = tx.random.chance(0.5)
        ? ['target_entity_ref', `user:default/${tx.uniqueText()}`]
        : ['weight', anyWeight(tx.random)];
      await tx.write(
        `update {relations} set ${column} = $2 where originating_entity_id = $1 {scope}`,
        entity_id,
        value,
      );
    },
  },
  {
    name: 'refuse an orphan relation',
    weight: 1,
    async run(tx) {
      const orphan = relationRow(tx, entityRow(tx));
      await tx.refused('23503', () => tx.insert('relations', [orphan]));
    },
  },
  {
    name: 'update refresh state',
    weight: 8,
    async run(tx) {
      const row = refreshRow(tx, await pickEntity(tx));
      await tx.write(
        'update {refresh_state} set errors = $2, next_update_at = $3 where entity_id = $1 {scope}',
        ...[row.entity_id, row.errors, row.next_update_at],
      );
    },
  },
  {
    name: 'delete refresh state',
    weight: 3,
    run: async tx =>
      tx.write(
        'delete from {refresh_state} where entity_id = $1 {scope}',
        (await pickEntity(tx)).entity_id,
      ),
  },
  {
    name: 'upsert refresh state',
    weight: 8,
    async run(tx) {
      const row = refreshRow(tx, await pickEntity(tx));
      const changed = ['location_key', 'errors', 'next_update_at'];
      await tx.upsert('refresh_state', 'entity_id', row, changed);
    },
  },
];

/**
 * Up to three entities that all writers write, each once: in the same order in every
 * transaction, so that the application has no deadlocks of its own.
 */
const writeShared: Scenario = {
  name: 'write shared entities',
  weight: 10,
  async run(tx) {
    for (const ref of tx.random.sample(SHARED_REFS, 3).sort()) {
      const { final_entity, hash } = content(tx);
      await tx.write(
        `update {entities} set final_entity = $2, hash = $3,
                stitch_ticket = (stitch_ticket::int + 1)::text
          where entity_ref = $1 {scope}`,
        ...[ref, final_entity, hash],
      );
    }
  },
};

/** One transaction over very many rows, such as a sync of an organisation. */
const writeMany: Scenario = {
  name: 'write many entities',
  weight: 1,
  async run(tx) {
    const bulk = await tx.pick(
      tx.sizes.bigTransaction,
      `entity_kind = '${BULK}'`,
    );
    const ids = bulk.map(({ entity_id }) => entity_id);
    if (ids.length === 0) {
      const rows = Array.from({ length: tx.sizes.bigTransaction }, () => ({
        ...entityRow(tx, newRef(tx, BULK)),
        final_entity: `{"n": ${tx.random.next()}}`,
      }));
      await tx.insert('entities', rows);
    } else if (tx.random.chance(0.5)) {
      await tx.write(
        'update {entities} set hash = $2 where entity_id = any ($1) {scope}',
        ...[ids, tx.uniqueText()],
      );
    } else {
      await tx.write(
        'delete from {entities} where entity_id = any ($1) {scope}',
        ids,
      );
    }
  },
};

/** Keeps the number of entities near the one that is wanted. */
async function several(tx: Transaction, atMost: number): Promise<void> {
  const { entitiesPerWriter, bigTransaction } = tx.sizes;
  for (let left = tx.random.below(atMost); left >= 0; left -= 1) {
    const count = await tx.countOwn();
    let scenario = tx.random.weighted(own);
    if (count < entitiesPerWriter * 0.7) {
      scenario = createEntity;
    } else if (count > entitiesPerWriter * 1.5 + bigTransaction) {
      scenario = removeEntity;
    }
    await scenario.run(tx);
  }
}

/** All that the writers do. */
export const scenarios: readonly Scenario[] = [
  ...own,
  writeShared,
  writeMany,
  { name: 'several writes', weight: 10, run: tx => several(tx, 8) },
  {
    // Holds its locks, then goes on to tables that it may not have touched yet.
    name: 'long transaction',
    weight: 1,
    async run(tx) {
      await several(tx, 3);
      if (tx.random.chance(0.2)) {
        await writeShared.run(tx);
      }
      await tx.hold(tx.sizes.longestHoldMs / 3, tx.sizes.longestHoldMs);
      await several(tx, 3);
    },
  },
  {
    name: 'rolled back',
    weight: 4,
    async run(tx) {
      await several(tx, 5);
      if (tx.random.chance(0.3)) {
        await writeShared.run(tx);
      }
      throw new DeliberateRollback();
    },
  },
  {
    name: 'savepoints',
    weight: 6,
    async run(tx) {
      await several(tx, 2);
      await tx.takenBack(() => several(tx, 3));
      await tx.nested(() => several(tx, 2));
      await tx.takenBack(() => tx.nested(() => several(tx, 2)));
    },
  },
];

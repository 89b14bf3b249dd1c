import type { Row } from '../rows';
import type { Transaction } from '../Transaction';
import { entityRow } from './entity';
import type { Scenario } from './Scenario';

const BULK = 'bulk';
const COLUMNS = [
  'entity_id',
  'entity_ref',
  'entity_kind',
  'entity_name',
  'final_entity',
  'hash',
  'created_at',
  'updated_at',
];
const TYPES = 'uuid text text text jsonb text timestamptz timestamptz'
  .split(' ')
  .map((type, index) => `$${index + 1}::${type}[]`);

async function insertBulk(tx: Transaction): Promise<void> {
  const rows = Array.from({ length: tx.sizes.bigTransaction }, (): Row => {
    const entity_name = tx.fresh();
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
  const { tenantId } = tx.application;
  const values: unknown[] = COLUMNS.map(column => rows.map(row => row[column]));
  await tx.query(
    'insert many entities',
    {
      text:
        `insert into entities (${COLUMNS.join(', ')}` +
        `${tenantId ? ', tenant_id' : ''}) ` +
        `select *${tenantId ? `, $${values.length + 1}::uuid` : ''} ` +
        `from unnest(${TYPES.join(', ')})`,
      values: tenantId ? [...values, tenantId] : values,
    },
    { rows: rows.length },
  );
  rows.forEach(row => tx.draft.put({ row, relations: [] }));
}

/** One transaction over very many rows, such as a sync of an organisation. */
export const writeMany: Scenario = {
  name: 'write many entities',
  weight: 1,
  async run(tx) {
    const bulk = tx.draft.all().filter(({ row }) => row.entity_kind === BULK);
    if (bulk.length === 0) {
      await insertBulk(tx);
      return;
    }
    const ids = bulk.map(({ row }) => row.entity_id);
    if (tx.random.chance(0.5)) {
      const hash = tx.fresh();
      await tx.query(
        'update many entities',
        {
          text: 'update entities set hash = $2 where entity_id = any ($1) {scope}',
          values: [ids, hash],
        },
        { rows: ids.length },
      );
      bulk.forEach(entity =>
        tx.draft.put({ ...entity, row: { ...entity.row, hash } }),
      );
      return;
    }
    await tx.query(
      'delete many entities',
      {
        text: 'delete from entities where entity_id = any ($1) {scope}',
        values: [ids],
      },
      { rows: ids.length },
    );
    bulk.forEach(entity => {
      tx.draft.fired('DELETE', entity.relations.length);
      tx.draft.remove(entity);
    });
  },
};

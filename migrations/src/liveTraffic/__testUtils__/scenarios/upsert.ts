import { insertStatement } from '../application';
import type { Row } from '../rows';
import type { QueryOptions, Transaction } from '../Transaction';

/** An upsert of one row. */
export interface Upsert {
  table: string;
  /** The column of the unique key, which the old application knows of. */
  key: string;
  sent: Row;
  /** The assignments for a row that is there, of `excluded.<column>` and others. */
  assignments: Record<string, string>;
  /** Expressions of the table's columns. */
  returning: string;
}

export interface Upserted {
  inserted: boolean;
  row: Record<string, string>;
}

/**
 * Inserts a row or updates the one that is there.
 *
 * The old application names the key. The new one names none, because it is
 * another one before the swap than after it: it inserts unless any key is taken,
 * and then updates.
 */
export async function upsert(
  tx: Transaction,
  options: Upsert,
  query: QueryOptions = {},
): Promise<Upserted> {
  return tx.application.tenantId === undefined
    ? upsertByKey(tx, options, query)
    : upsertByAnyKey(tx, options, query);
}

async function upsertByKey(
  tx: Transaction,
  { table, key, sent, assignments, returning }: Upsert,
  query: QueryOptions,
): Promise<Upserted> {
  const { text, values } = insertStatement(tx.application, table, [sent]);
  const list = Object.entries(assignments).map(pair => pair.join(' = '));
  const { rows } = await tx.query(
    `upsert into ${table}`,
    {
      text:
        `${text} on conflict (${key}) do update set ${list.join(', ')} ` +
        `returning ${returning}, ${table}.xmax::text = '0' as inserted`,
      values,
    },
    { ...query, rows: 1 },
  );
  const [{ inserted, ...row }] = rows;
  return { inserted, row };
}

async function upsertByAnyKey(
  tx: Transaction,
  { table, key, sent, assignments, returning }: Upsert,
  query: QueryOptions,
): Promise<Upserted> {
  const insert = insertStatement(tx.application, table, [sent]);
  const values: unknown[] = [sent[key]];
  const list = Object.entries(assignments).map(([column, expression]) => {
    const value = expression.replace(
      /excluded\.(\w+)/,
      (_, name) => `$${values.push(sent[name])}`,
    );
    return `${column} = ${value}`;
  });
  const update = {
    text:
      `update ${table} set ${list.join(', ')} where ${key} = $1 {scope} ` +
      `returning ${returning}`,
    values,
  };
  for (;;) {
    const inserted = await tx.query(
      `insert into ${table} unless there`,
      {
        text: `${insert.text} on conflict do nothing returning ${returning}`,
        values: insert.values,
      },
      query,
    );
    if (inserted.rowCount === 1) {
      return { inserted: true, row: inserted.rows[0] };
    }
    const updated = await tx.query(`update ${table} if there`, update, query);
    if (updated.rowCount === 1) {
      return { inserted: false, row: updated.rows[0] };
    }
    // Somebody has deleted it in between.
  }
}

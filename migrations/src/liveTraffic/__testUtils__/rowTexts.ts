import type { Client } from 'pg';
import type { TenantTable } from '../../schema/tables';
import { COLUMNS } from './rows';
import type { Entities, RecordedEntity, Row } from './rows';

export type Database = Pick<Client, 'query'>;

/**
 * A row as the JSON array of its columns' texts. Texts are what both sides are compared by.
 */
function rowText(table: TenantTable, value: (name: string) => string): string {
  const columns = COLUMNS[table].map(
    ({ name, type }) => `(${value(name)})::${type}::text`,
  );
  return `to_json(array[${columns.join(', ')}])::text`;
}

/** Rows as the database would write them. */
export async function asTexts(
  client: Database,
  table: TenantTable,
  rows: Row[],
): Promise<string[]> {
  const { rows: texts } = await client.query(
    `select ${rowText(table, name => `r ->> '${name}'`)} as text
       from json_array_elements($1) r`,
    [JSON.stringify(rows)],
  );
  return texts.map(({ text }) => text);
}

/** The rows of a table. */
export async function readTexts(
  client: Database,
  table: TenantTable,
): Promise<string[]> {
  const { rows } = await client.query(
    `select ${rowText(table, name => name)} as text from ${table}`,
  );
  return rows.map(({ text }) => text);
}

/** What is in the tables, as the record to begin with. */
export async function readEntities(client: Database): Promise<Entities> {
  await client.query(`set timezone = 'UTC'`);
  const entities = new Map<string, RecordedEntity>();
  for (const row of await readRows(client, 'entities')) {
    entities.set(row.entity_id!, { row, relations: [] });
  }
  for (const row of await readRows(client, 'relations')) {
    const id = row.originating_entity_id!;
    const entity = entities.get(id)!;
    const relations = [...entity.relations, row];
    entities.set(id, { ...entity, relations });
  }
  for (const refreshState of await readRows(client, 'refresh_state')) {
    const id = refreshState.entity_id!;
    entities.set(id, { ...entities.get(id)!, refreshState });
  }
  return entities;
}

async function readRows(client: Database, table: TenantTable): Promise<Row[]> {
  const texts = await readTexts(client, table);
  return texts.map(text => {
    const values: (string | null)[] = JSON.parse(text);
    return Object.fromEntries(
      COLUMNS[table].map(({ name }, index) => [name, values[index]]),
    );
  });
}

import type { Client } from 'pg';
import { escapeLiteral } from '../../sql';
import { TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { COLUMNS } from './expectedRows';
import type {
  Entities,
  RecordedEntity,
  Row,
  TrafficRecord,
} from './expectedRows';

export type Database = Pick<Client, 'query'>;

const KEYS: Record<TenantTable, string | undefined> = {
  entities: 'entity_id',
  relations: undefined,
  refresh_state: 'entity_id',
};

export interface CompareOptions {
  /** The tenant of rows for which the record names none; left out, they may have none. */
  tenantId?: string;
}

/**
 * Compares the three tables with a record, row by row and column by column, and
 * lists what differs. The client must see every row: a superuser.
 *
 * Both sides are compared as the text that the database makes of the column's
 * type, so that 0.10 in a JSON value is not 0.1, and one microsecond counts.
 */
export async function compare(
  client: Database,
  record: TrafficRecord,
  options: CompareOptions = {},
): Promise<string[]> {
  const differences = [...record.contradictions];
  await client.query(`set timezone = 'UTC'`);
  const ids = record.tenants.map(({ tenantId = options.tenantId }) => tenantId);
  for (const table of TENANT_TABLES) {
    differences.push(...(await compareColumns(client, table)));
    for (const { tenantId, entities } of record.tenants) {
      const wanted = await asTexts(client, table, rowsOf(table, entities));
      const found = await readTexts(client, table, tenantId);
      differences.push(...differencesBetween(table, wanted, found));
    }
    if (!ids.includes(undefined)) {
      differences.push(...(await otherTenants(client, table, ids)));
    }
  }
  return differences;
}

/** The rows of a tenant, or all of them, as the record to begin with. */
export async function readEntities(
  client: Database,
  tenantId?: string,
): Promise<Entities> {
  await client.query(`set timezone = 'UTC'`);
  const read = async (table: TenantTable): Promise<Row[]> =>
    (await readTexts(client, table, tenantId)).map(text => {
      const values: (string | null)[] = JSON.parse(text);
      return Object.fromEntries(
        COLUMNS[table].map(({ name }, index) => [name, values[index]]),
      );
    });
  const entities = new Map<string, RecordedEntity>();
  for (const row of await read('entities')) {
    entities.set(row.entity_id!, { row, relations: [] });
  }
  for (const row of await read('relations')) {
    const id = row.originating_entity_id!;
    const entity = entities.get(id)!;
    const relations = [...entity.relations, row];
    entities.set(id, { ...entity, relations });
  }
  for (const refreshState of await read('refresh_state')) {
    const id = refreshState.entity_id!;
    entities.set(id, { ...entities.get(id)!, refreshState });
  }
  return entities;
}

/** Rows as the database would write them. */
async function asTexts(
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

async function readTexts(
  client: Database,
  table: TenantTable,
  tenantId: string | undefined,
): Promise<string[]> {
  const { rows } = await client.query(
    `select ${rowText(table, name => name)} as text from ${table}
      ${tenantId ? `where tenant_id = ${escapeLiteral(tenantId)}` : ''}`,
  );
  return rows.map(({ text }) => text);
}

/** A row as the JSON array of its columns' texts. */
function rowText(table: TenantTable, value: (name: string) => string): string {
  const columns = COLUMNS[table].map(
    ({ name, type }) => `(${value(name)})::${type}::text`,
  );
  return `to_json(array[${columns.join(', ')}])::text`;
}

function rowsOf(table: TenantTable, entities: RecordedEntity[]): Row[] {
  switch (table) {
    case 'entities':
      return entities.map(({ row }) => row);
    case 'relations':
      return entities.flatMap(({ relations }) => relations);
    default:
      return entities
        .map(({ refreshState }) => refreshState)
        .filter((row): row is Row => row !== undefined);
  }
}

/** Compares as multisets: relations may be there twice. */
function differencesBetween(
  table: TenantTable,
  wanted: string[],
  found: string[],
): string[] {
  const missing = without(wanted, found);
  const unexpected = without(found, wanted);
  const key = COLUMNS[table].findIndex(({ name }) => name === KEYS[table]);
  const differences: string[] = [];
  for (const text of missing) {
    const [id] = key < 0 ? [] : [JSON.parse(text)[key]];
    const at = unexpected.findIndex(
      other => id !== undefined && JSON.parse(other)[key] === id,
    );
    if (at < 0) {
      differences.push(`${table}: missing ${shorten(text)}`);
    } else {
      const [other] = unexpected.splice(at, 1);
      differences.push(...changedColumns(table, id, text, other));
    }
  }
  return [
    ...differences,
    ...unexpected.map(text => `${table}: unexpected ${shorten(text)}`),
  ];
}

/** The elements of a list that are left when those of another are taken away. */
function without(list: string[], others: string[]): string[] {
  const counts = new Map<string, number>();
  others.forEach(text => counts.set(text, (counts.get(text) ?? 0) + 1));
  return list.filter(text => {
    const count = counts.get(text) ?? 0;
    counts.set(text, count - 1);
    return count <= 0;
  });
}

function changedColumns(
  table: TenantTable,
  id: string,
  wanted: string,
  found: string,
): string[] {
  const is = JSON.parse(found);
  return JSON.parse(wanted).flatMap((value: string | null, index: number) =>
    value === is[index]
      ? []
      : `${table} ${id}: ${COLUMNS[table][index].name} is ` +
        `${shorten(String(is[index]))} instead of ${shorten(String(value))}`,
  );
}

function shorten(text: string): string {
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}

/** The columns have the names and types that they had, beside tenant_id. */
async function compareColumns(
  client: Database,
  table: TenantTable,
): Promise<string[]> {
  const { rows } = await client.query(
    `select attname || ' ' || format_type(atttypid, atttypmod) as column
       from pg_attribute where attrelid = $1::regclass and attnum > 0
        and not attisdropped and attname <> 'tenant_id'`,
    [table],
  );
  const found = rows.map(({ column }) => column);
  const wanted = COLUMNS[table].map(({ name, type }) => `${name} ${type}`);
  return [
    ...without(wanted, found).map(column => `${table}: no column ${column}`),
    ...without(found, wanted).map(column => `${table}: new column ${column}`),
  ];
}

async function otherTenants(
  client: Database,
  table: TenantTable,
  ids: (string | undefined)[],
): Promise<string[]> {
  const { rows } = await client.query(
    `select count(*)::int as count, tenant_id from ${table}
      where tenant_id is null or tenant_id <> all ($1) group by tenant_id`,
    [ids],
  );
  return rows.map(
    ({ count, tenant_id }) => `${table}: ${count} rows of tenant ${tenant_id}`,
  );
}

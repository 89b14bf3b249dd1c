import { TENANT_TABLES } from '../../schema/tables';
import type { TenantTable } from '../../schema/tables';
import { COLUMNS } from './rows';
import type { RecordedEntity, Row } from './rows';
import { asTexts, readTexts } from './rowTexts';
import type { Database } from './rowTexts';
import type { TrafficRecord } from './Traffic';

const KEYS: Record<TenantTable, string | undefined> = {
  entities: 'entity_id',
  relations: undefined,
  refresh_state: 'entity_id',
};

export interface CompareOptions {
  /** The tenant of every row; left out, rows may be without one. */
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
  { tenantId }: CompareOptions = {},
): Promise<string[]> {
  const differences = [...record.contradictions];
  await client.query(`set timezone = 'UTC'`);
  for (const table of TENANT_TABLES) {
    differences.push(...(await compareColumns(client, table)));
    const wanted = await asTexts(client, table, rowsOf(table, record.entities));
    const found = await readTexts(client, table);
    differences.push(...differencesBetween(table, wanted, found));
    if (tenantId !== undefined) {
      differences.push(...(await otherTenants(client, table, tenantId)));
    }
  }
  return [...differences, ...(await compareHistory(client, record))];
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
  tenantId: string,
): Promise<string[]> {
  const { rows } = await client.query(
    `select count(*)::int as count, tenant_id from ${table}
      where tenant_id is distinct from $1 group by tenant_id`,
    [tenantId],
  );
  return rows.map(
    ({ count, tenant_id }) => `${table}: ${count} rows of tenant ${tenant_id}`,
  );
}

/** The trigger of the application fired for the application's writes alone. */
async function compareHistory(
  client: Database,
  { history }: TrafficRecord,
): Promise<string[]> {
  const { rows } = await client.query(
    `select operation, count(*)::int as times from relation_history group by 1`,
  );
  const found = new Map(rows.map(row => [row.operation, row.times]));
  return Object.entries(history).flatMap(([operation, times]) =>
    (found.get(operation) ?? 0) === times
      ? []
      : `the trigger on relations fired ${found.get(operation) ?? 0} times ` +
        `instead of ${times} for ${operation}`,
  );
}

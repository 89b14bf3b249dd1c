import { DatabaseError } from 'pg';
import type { Executor } from '../engine/Executor';
import { RETIRED_TABLE } from '../schema/tables';
import { escapeIdentifier, escapeLiteral } from '../sql';

/** Where something of a tenant stands. */
export interface Trace {
  database: string;
  /** `schema.table.column`, or the kind and the name of an object. */
  place: string;
  /** How many rows. */
  rows: number;
}

/** What a search finds. */
export interface Traces {
  /** The tenant's id. */
  left: Trace[];
  /** Tables that the login may not read. */
  unread: Omit<Trace, 'rows'>[];
}

interface SearchedTable {
  schema: string;
  name: string;
  columns: string[];
}

/** Those who shared with the tenant keep their audit trail of it, and its slug stays retired. */
const KEPT = ['tenant_audit', RETIRED_TABLE];

const INSUFFICIENT_PRIVILEGE = '42501';
const UNDEFINED_TABLE = '42P01';

const OBJECTS = `
  select format('schema %I', nspname) as place from pg_namespace
   where nspname like any (array[$1, $2])
  union all
  select format('relation %I.%I', n.nspname, c.relname)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where c.relname like any (array[$1, $2]) and n.nspname !~ '^pg_'
  union all
  select format('role %I', rolname) from pg_roles where rolname like any (array[$1, $2])
  order by 1`;

/**
 * Searches all columns that can hold an id or a text, by PostgreSQL's own catalogue: text,
 * varchar, char, uuid, json and jsonb, also in arrays and domains. And the names of schemas,
 * tables and roles.
 *
 * Locks: ACCESS SHARE on one table after the other, which blocks no reader or writer.
 *
 * @param reading - runs a query about a schema as a role that may read there
 */
export async function searchTraces(
  { database, executor }: { database: string; executor: Executor },
  { tenantId, schema }: { tenantId: string; schema: string },
  reading: (schema: string) => Executor,
): Promise<Traces> {
  const traces: Traces = { left: [], unread: [] };
  const compact = tenantId.replaceAll('-', '');
  const named = await executor.read<{ place: string }>(OBJECTS, [
    `%${compact}%`,
    `%${tenantId}%`,
  ]);
  traces.left.push(...named.map(({ place }) => ({ database, place, rows: 1 })));
  for (const table of await listTables(executor)) {
    if (table.schema === schema && KEPT.includes(table.name)) {
      continue;
    }
    const where = `${table.schema}.${table.name}`;
    try {
      const [counts] = await reading(table.schema).read<Record<string, number>>(
        countStatement(table, [tenantId, compact]),
      );
      for (const column of table.columns.filter(each => counts[each] > 0)) {
        const place = `${where}.${column}`;
        traces.left.push({ database, place, rows: counts[column] });
      }
    } catch (error) {
      switch (error instanceof DatabaseError ? error.code : undefined) {
        case INSUFFICIENT_PRIVILEGE:
          traces.unread.push({ database, place: where });
          break;
        case UNDEFINED_TABLE:
          // It has gone since, as with an upgrade of another tenant's engine.
          break;
        default:
          throw error;
      }
    }
  }
  return traces;
}

/** Tables and materialized views; a partition is read with its table. */
async function listTables(executor: Executor): Promise<SearchedTable[]> {
  return executor.read<SearchedTable>(`
    select n.nspname as schema, c.relname as name,
           array_agg(a.attname::text order by a.attnum) as columns
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join pg_type t on t.oid = a.atttypid
      -- The element of an array.
      join pg_type e on e.oid = case when t.typcategory = 'A' then t.typelem else t.oid end
      -- The base of a domain.
      join pg_type b on b.oid = case when e.typtype = 'd' then e.typbasetype else e.oid end
     where c.relkind in ('r', 'p', 'm') and not c.relispartition and c.relispopulated
       and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
       and (b.typcategory = 'S' or b.typname in ('uuid', 'json', 'jsonb', 'xml'))
     group by 1, 2 order by 1, 2`);
}

function countStatement(
  { schema, name, columns }: SearchedTable,
  texts: string[],
): string {
  const counts = columns.map(column => {
    const sql = escapeIdentifier(column);
    const found = texts
      .map(text => `${sql}::text like ${escapeLiteral(`%${text}%`)}`)
      .join(' or ');
    return `count(*) filter (where ${found})::float8 as ${sql}`;
  });
  return `select ${counts.join(', ')}
    from ${escapeIdentifier(schema)}.${escapeIdentifier(name)}`;
}

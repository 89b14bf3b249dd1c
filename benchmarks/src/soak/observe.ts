import type { Client } from 'pg';
import { privateMemoryOf, residentMemoryOf } from '../harness/memory';
import { SCHEMA } from '../harness/servers';

/** The tables of tenants that writes of entities change. */
export const TABLES = [
  'entity_terms',
  'entities',
  'relations',
  'refresh_state',
] as const;

/** One of them with all of its partitions. */
export interface TableState {
  name: (typeof TABLES)[number];
  /** In bytes, with what is stored out of line; and without the indexes. */
  size: number;
  indexes: number;
  live: number;
  dead: number;
}

/** An index of `entity_terms`. */
export interface IndexState {
  name: string;
  size: number;
  /** Entries that scans have read since the last look. */
  read: number;
  /** How many of them had to be looked up in the table, live ones only. */
  fetched: number;
}

/** What autovacuum has done to `entity_terms`. */
export interface VacuumState {
  vacuums: number;
  analyzes: number;
  /** How long it has been at work, of those. Only from PostgreSQL 18 on. */
  ms?: number;
  dead: number;
}

/** Memory in KiB; nothing where the system does not tell. */
export interface MemoryState {
  backend?: number;
  sessions: number;
  /** What the sessions share with no other process. */
  ofSessions?: number;
}

const TABLE_STATES = `
select root.name, sum(pg_table_size(part.id))::float8 as size,
       sum(pg_indexes_size(part.id))::float8 as indexes,
       coalesce(sum(n_live_tup), 0)::float8 as live, coalesce(sum(n_dead_tup), 0)::float8 as dead
  from unnest($1::text[]) with ordinality root (name, place),
       lateral (select to_regclass(format('%I.%I', $2::text, root.name)) as id
                 union
                select relid from pg_partition_tree(to_regclass(format('%I.%I', $2::text, root.name)))) part
  left join pg_stat_user_tables s on s.relid = part.id
 group by root.name, root.place
 order by root.place`;

const INDEX_STATES = `
select indexrelname as name, pg_relation_size(indexrelid)::float8 as size,
       idx_tup_read::float8 as read, idx_tup_fetch::float8 as fetched
  from pg_stat_user_indexes
 where schemaname = $1 and relname = 'entity_terms'
 order by 1`;

const VACUUM_STATE = `
select autovacuum_count::int as vacuums, autoanalyze_count::int as analyzes,
       n_dead_tup::float8 as dead, (to_jsonb(s) ->> 'total_autovacuum_time')::float8 as ms
  from pg_stat_user_tables s
 where schemaname = $1 and relname = 'entity_terms'`;

export async function readTables(client: Client): Promise<TableState[]> {
  const { rows } = await client.query<TableState>(TABLE_STATES, [
    TABLES,
    SCHEMA,
  ]);
  return rows;
}

export async function readIndexes(client: Client): Promise<IndexState[]> {
  const { rows } = await client.query<IndexState>(INDEX_STATES, [SCHEMA]);
  return rows;
}

export async function readVacuums(client: Client): Promise<VacuumState> {
  const { rows } = await client.query<VacuumState>(VACUUM_STATE, [SCHEMA]);
  return rows[0];
}

/** Of the backend, and of the sessions that others than this one have in the database. */
export async function readMemory(
  client: Client,
  backend: number,
): Promise<MemoryState> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend'
        and pid <> pg_backend_pid()`,
  );
  const sizes = rows.flatMap(({ pid }) => privateMemoryOf(pid) ?? []);
  return {
    backend: residentMemoryOf(backend),
    sessions: rows.length,
    ofSessions:
      sizes.length > 0 ? sizes.reduce((sum, size) => sum + size, 0) : undefined,
  };
}

import type { Executor } from '../engine/Executor';
import { temporaryIndex } from '../phases/phase1_tenant_column/30_temporary_indexes';
import {
  COUNTED_KEY,
  ORDERED_KEY,
} from '../phases/phase5_partitions/90_entity_terms/keys';
import { termsQuery } from '../phases/phase5_partitions/90_entity_terms/terms';
import { escapeIdentifier } from '../sql';
import { ENTITY_KEY, TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import { formatBytes } from '../text';

/** An executor, or a session. */
export type Reader = Pick<Executor, 'read'>;

/** The disk space that a part of the migration needs. */
export interface DiskNeed {
  /** Its name in messages: `the copies of the tables`. */
  what: string;
  /** Where: a folder, absolute or within the data directory of the server. */
  location: string;
  bytes: number;
}

/** One of the three tables. */
export interface SourceTable {
  name: TenantTable;
  oid: number;
  /** Its name as SQL, with the schema. */
  sql: string;
}

/** The tables in use, and the progress of the migration. */
export interface Stage {
  tables: SourceTable[];
  /** The last phase of which a step was done; 0 before any. */
  begunPhase: number;
  /** Whether the partitioned tables are in place. */
  swapped: boolean;
}

/** The three tables of the schema of a session, for the phase that is about to be run. */
export async function readStage(reader: Reader, phase: number): Promise<Stage> {
  const tables = await reader.read<SourceTable & { partitioned: boolean }>(
    `select c.relname as name, c.oid, format('%I.%I', n.nspname, c.relname) as sql,
            c.relkind = 'p' as partitioned
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = current_schema and c.relname = any ($1) and c.relkind in ('r', 'p')`,
    [[...TENANT_TABLES]],
  );
  return {
    tables,
    begunPhase: phase,
    swapped: tables.some(({ partitioned }) => partitioned),
  };
}

// PostgreSQL's storage of rows, in bytes.
const PAGE = 8192;
const HEAP_PAGE_ROOM = PAGE - 24;
const INDEX_PAGE_ROOM = PAGE - 24 - 16;
const LINE_POINTER = 4;
const TUPLE_HEADER = 24;
const INDEX_TUPLE_HEADER = 8;
const UUID = 16;
const ROW_POINTER = 6;
// TOAST moves the longest value out of a longer row, in chunks.
const TOAST_THRESHOLD = 2032;
const TOAST_POINTER = 18;
const CHUNK = 1996;
const CHUNK_ROOM = 2048;
const CHUNK_HEADER = 44;
const CHUNK_INDEX_ENTRY = 22;
// CREATE INDEX fills the leaves of a B-tree to 90 %; inner pages take another hundredth.
const LEAF_FILL = 0.9 * 0.99;

// The sample for the estimates: rows, and the pages from which they come at least.
const SAMPLED_ROWS = 300;
const SAMPLED_PAGES = 50;

// Bytes of GIN indexes for each node of JSON and for each letter of a name.
const JSON_NODE = 16;
const LETTER = 6;

// For rows written during the migration, and errors of the estimate.
const MARGIN = 1.1;

// The log has record headers, and full-page images after each checkpoint.
const LOG_OF_A_BYTE = 1.3;

const BACKFILL = 'the rows that the backfill writes anew';
const COPIES = 'the copies of the tables with their indexes';
const SEARCH = 'entity_terms with its indexes';
/** Temporary files of index builds, which pg_database_size does not count. */
export const SORTING = 'sorting';
const LOG = 'the write-ahead log';

/**
 * Estimates, from a sample of the rows, the space for the rest of the migration up to phase
 * 5, before the cleanup frees any.
 */
export async function estimateNeeds(
  reader: Reader,
  stage: Stage,
): Promise<DiskNeed[]> {
  const { tables, begunPhase, swapped } = stage;
  const places = await readPlaces(reader);
  const needs: DiskNeed[] = [];
  const need = (what: string, location: string, bytes: number) => {
    if (bytes > 0) {
      needs.push({ what, location, bytes: Math.round(bytes * MARGIN) });
    }
  };
  let copies = 0;
  for (const table of swapped ? [] : tables) {
    const rows = await measureRows(reader, table);
    const indexes = await readIndexes(reader, table);
    if (begunPhase <= 2) {
      // Half of the indexes' size: PostgreSQL reuses the space of dead index entries, unless
      // older transactions may need them.
      need(
        BACKFILL,
        indexes.location,
        rows.count * rows.heap + indexes.bytes / 2,
      );
    }
    if (begunPhase <= 3 && !indexes.ofEntity) {
      need(BACKFILL, places.created, rows.count * indexEntry(2 * UUID));
    }
    copies +=
      rows.count * (rows.heap + rows.toast) +
      indexes.bytes +
      rows.count * indexes.count * indexEntry(UUID, 0);
    if (table.name !== 'entities') {
      copies += rows.count * indexEntry(2 * UUID);
    }
  }
  const entities = tables.find(({ name }) => name === 'entities');
  let search = { heap: 0, indexes: [0] };
  if (entities) {
    const terms = await measureTerms(reader, entities);
    copies += swapped ? 0 : terms.entityIndexes;
    search = terms;
  }
  const present = await readPresent(reader);
  need(COPIES, places.created, copies - present.copies);
  const unfilled = search.heap + sum(search.indexes) - present.search;
  need(SEARCH, places.created, unfilled);
  const written = sum(needs.map(({ bytes }) => bytes));
  // Its indexes are built concurrently.
  need(SORTING, places.sorted, Math.min(unfilled, sum(search.indexes)));
  needs.push({
    what: LOG,
    location: 'pg_wal',
    bytes: Math.round(
      Math.min(written * LOG_OF_A_BYTE, await readLogLimit(reader)),
    ),
  });
  return merge(needs);
}

/** `244 MB (159 MB for entity_terms with its indexes, …)`, the largest first. */
export function describeNeeds(needs: DiskNeed[]): string {
  const parts = [...needs]
    .sort((one, other) => other.bytes - one.bytes)
    .map(({ what, bytes }) => `${formatBytes(bytes)} for ${what}`);
  const total = formatBytes(sum(needs.map(({ bytes }) => bytes)));
  return parts.length > 1 ? `${total} (${parts.join(', ')})` : total;
}

function merge(needs: DiskNeed[]): DiskNeed[] {
  const merged: DiskNeed[] = [];
  for (const need of needs) {
    const same = merged.find(
      ({ what, location }) => what === need.what && location === need.location,
    );
    if (same) {
      same.bytes += need.bytes;
    } else {
      merged.push({ ...need });
    }
  }
  return merged;
}

/** The number of rows of a table, and the average bytes of each in a copy. */
interface RowSizes {
  count: number;
  heap: number;
  /** In its TOAST table. */
  toast: number;
}

async function measureRows(
  reader: Reader,
  table: SourceTable,
): Promise<RowSizes> {
  const columns = await reader.read<{ name: string }>(
    `select attname as name from pg_attribute
      where attrelid = $1 and attnum > 0 and not attisdropped and attname <> 'tenant_id'
        and attgenerated <> 'v'`,
    [table.oid],
  );
  const sizes = columns
    .map(({ name }) => `pg_column_size(${escapeIdentifier(name)})`)
    .join(', ');
  const count = await countRows(reader, table);
  const [sizesOfRows] = await reader.read<Omit<RowSizes, 'count'>>(
    `select coalesce(avg(ceil((${
      TUPLE_HEADER + UUID
    } + case when long then total - largest + ${TOAST_POINTER} else total end) / 8) * 8
                      + ${LINE_POINTER}), 0)::float8 * ${PAGE} / ${HEAP_PAGE_ROOM} as heap,
            coalesce(avg(case when long
              then floor(largest / ${CHUNK}) * (${CHUNK_ROOM} + ${CHUNK_INDEX_ENTRY})
                     + mod(largest, ${CHUNK}) + ${CHUNK_HEADER} + ${CHUNK_INDEX_ENTRY}
              else 0 end), 0)::float8 as toast
       from (select total, largest, ${
         TUPLE_HEADER + UUID
       } + total > ${TOAST_THRESHOLD} as long
               from (select array[${sizes}] as sizes from ${sample(
      table,
      count,
    )}) sample,
                    lateral (select coalesce(sum(size), 0)::numeric, coalesce(max(size), 0)::numeric
                               from unnest(sizes) size) row (total, largest)) sizes`,
  );
  return { count, ...sizesOfRows };
}

/** The indexes of a table, which its copy gets with the tenant in front. */
interface Indexes {
  count: number;
  bytes: number;
  /** Whether one is on the entity; otherwise phase 3 builds it. */
  ofEntity: boolean;
  /** The folder of the table. */
  location: string;
}

async function readIndexes(
  reader: Reader,
  { name, oid }: SourceTable,
): Promise<Indexes> {
  const [indexes] = await reader.read<Indexes>(
    `select count(i.indexrelid)::int as count,
            coalesce(sum(pg_relation_size(i.indexrelid)), 0)::float8 as bytes,
            coalesce(bool_or(i.indpred is null and i.indkey[0] = (
              select attnum from pg_attribute where attrelid = c.oid and attname = $2)), false) as "ofEntity",
            coalesce(nullif(pg_tablespace_location(coalesce(nullif(c.reltablespace, 0), d.dattablespace)), ''), '.') as location
       from pg_class c
       join pg_database d on d.datname = current_database()
       left join (pg_index i join pg_class x on x.oid = i.indexrelid and x.relname <> $3)
         on i.indrelid = c.oid and i.indisvalid
      where c.oid = $1 group by c.oid, c.reltablespace, d.dattablespace`,
    [oid, ENTITY_KEY[name], temporaryIndex(name)],
  );
  return indexes;
}

/** Bytes of the objects that phase 5 derives from the entities. */
interface TermSizes {
  /** The indexes that the specification names. */
  entityIndexes: number;
  /** Of entity_terms. */
  heap: number;
  indexes: number[];
}

async function measureTerms(
  reader: Reader,
  entities: SourceTable,
): Promise<TermSizes> {
  const terms = await termsQuery(reader);
  const rows = await countRows(reader, entities);
  const live = await countRows(reader, entities, 'deleted_at is null');
  const [found] = await reader.read<{
    heap: number;
    terms: number;
    byValue: number;
    byFacet: number;
    byOrder: number;
    reference: number;
    kind: number;
    nodes: number;
    letters: number;
  }>(
    `with sample as materialized (
       select * from ${sample(entities, rows)} where deleted_at is null
        order by hashtext(entity_id::text) limit ${SAMPLED_ROWS}
     ), stored as materialized (
       select t.key, t.value, t.original_value, s.*
         from sample e,
              lateral (${terms('e.final_entity', 'e.entity_id')}) t,
              lateral (select ${storedText('t.key')}, ${storedText(
      't.value',
    )}, ${storedText('t.original_value')}) s (of_key, of_value, of_original)
     ), term as (
       select sum(${aligned(
         `${TUPLE_HEADER + 2 * UUID} + of_key + of_value + of_original`,
       )}) as heap,
              count(*) as terms,
              sum(${aligned(
                `${
                  INDEX_TUPLE_HEADER + 2 * UUID
                } + of_key + of_value + of_original + case of_value when 0 then 8 else 0 end`,
              )}) as by_value,
              sum(${aligned(
                `${INDEX_TUPLE_HEADER + 2 * UUID} + of_key + of_value`,
              )}) filter (where ${ORDERED_KEY}) as by_order
         from stored
     ), facet as (
       select coalesce(sum(entry), 0) + coalesce(sum(times), 0) * ${ROW_POINTER} as by_facet
         from (select ${aligned(
           `${
             INDEX_TUPLE_HEADER + UUID
           } + min(of_key) + min(of_value) + min(of_original)`,
         )} as entry, count(*) as times
                 from stored where value is not null and ${COUNTED_KEY}
                group by key, value, original_value) distinct_ones
     ), entity as (
       select nullif(count(*), 0) as sampled,
              sum(${aligned(
                `${INDEX_TUPLE_HEADER + UUID} + ${storedText('entity_ref')}`,
              )}) as reference,
              sum(${aligned(
                `${INDEX_TUPLE_HEADER + UUID + 8} + ${storedText(
                  'entity_kind',
                )}`,
              )}) as kind,
              sum((select count(*) from jsonb_path_query(final_entity, '$.**'))) as nodes,
              sum(char_length(entity_name) + 2) as letters
         from sample
     )
     select coalesce(heap / sampled, 0)::float8 as heap,
            coalesce(by_value / sampled, 0)::float8 as "byValue",
            coalesce(terms / sampled, 0)::float8 as terms,
            coalesce(by_facet / sampled, 0)::float8 as "byFacet",
            coalesce(by_order / sampled, 0)::float8 as "byOrder",
            coalesce(reference / sampled, 0)::float8 as reference,
            coalesce(kind / sampled, 0)::float8 as kind,
            coalesce(nodes / sampled, 0)::float8 as nodes,
            coalesce(letters / sampled, 0)::float8 as letters
       from entity, term, facet`,
  );
  const index = (bytes: number) =>
    (live * bytes * PAGE) / (INDEX_PAGE_ROOM * LEAF_FILL);
  return {
    entityIndexes:
      index(found.reference) +
      index(found.kind) +
      live * (found.nodes * JSON_NODE + found.letters * LETTER),
    heap: (live * found.heap * PAGE) / HEAP_PAGE_ROOM,
    indexes: [
      // Equal entries are stored once, with the places of their rows.
      index(
        INDEX_TUPLE_HEADER + UUID + LINE_POINTER + found.terms * ROW_POINTER,
      ),
      index(found.byValue),
      index(found.byFacet),
      index(found.byOrder),
    ],
  };
}

/** SQL for the bytes of a text in a row: a short one has a header of one byte. */
function storedText(text: string): string {
  return `case when ${text} is null then 0 when octet_length(${text}) <= 126
            then octet_length(${text}) + 1 else octet_length(${text}) + 6 end`;
}

/** SQL for bytes rounded up to PostgreSQL's alignment in a page. */
function aligned(bytes: string): string {
  return `ceil((${bytes}) / 8.0) * 8 + ${LINE_POINTER}`;
}

/** Bytes of an entry of a B-tree, or of one more key of it. */
function indexEntry(
  keys: number,
  rest = INDEX_TUPLE_HEADER + LINE_POINTER,
): number {
  return ((keys + rest) * PAGE) / (INDEX_PAGE_ROOM * LEAF_FILL);
}

/** A sample of some hundred rows, from random pages. */
function sample({ sql }: SourceTable, rows: number): string {
  if (rows <= SAMPLED_ROWS) {
    return sql;
  }
  const size = `pg_relation_size('${sql.replace(/'/g, "''")}')`;
  return `${sql} tablesample system (least(100, greatest(
    ${(100 * SAMPLED_ROWS) / rows},
    coalesce(${100 * SAMPLED_PAGES * PAGE}.0 / nullif(${size}, 0), 0))))`;
}

async function countRows(
  reader: Reader,
  { sql }: SourceTable,
  condition = 'true',
): Promise<number> {
  const [{ count }] = await reader.read<{ count: number }>(
    `select count(*)::float8 as count from ${sql} where ${condition}`,
  );
  return count;
}

/** The folders in which PostgreSQL creates tables and sorts. */
async function readPlaces(
  reader: Reader,
): Promise<{ created: string; sorted: string }> {
  const [places] = await reader.read<{ created: string; sorted: string }>(
    `select coalesce(nullif(pg_tablespace_location(coalesce(created.oid, d.dattablespace)), ''), '.') as created,
            coalesce(nullif(pg_tablespace_location(coalesce(sorted.oid, d.dattablespace)), ''), '.') as sorted
       from pg_database d
       left join pg_tablespace created on created.spcname = current_setting('default_tablespace')
       left join pg_tablespace sorted
         on sorted.spcname = trim(both ' "' from split_part(current_setting('temp_tablespaces'), ',', 1))
      where d.datname = current_database()`,
  );
  return places;
}

/** Bytes of the objects that phase 5 has created already. */
async function readPresent(
  reader: Reader,
): Promise<{ copies: number; search: number }> {
  const [present] = await reader.read<{ copies: number; search: number }>(
    `select coalesce(sum(pg_total_relation_size(c.oid)) filter (where c.relname <> 'entity_terms'), 0)::float8 as copies,
            coalesce(sum(pg_total_relation_size(c.oid)) filter (where c.relname = 'entity_terms'), 0)::float8 as search
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = current_schema and c.relkind = 'r'
        and (c.relname = 'entity_terms' or c.relispartition)`,
  );
  return present;
}

/**
 * How far the log may grow, in bytes. PostgreSQL keeps it below max_wal_size, unless a
 * replication slot or a failing archive holds it back.
 */
export async function readLogLimit(reader: Reader): Promise<number> {
  const [log] = await reader.read<{ kept: boolean; limit: number }>(
    `select exists (select from pg_replication_slots where not active)
              or coalesce((select last_failed_time > coalesce(last_archived_time, '-infinity')
                             from pg_stat_archiver), false) as kept,
            pg_size_bytes(current_setting('max_wal_size'))::float8
              + pg_size_bytes(current_setting('wal_keep_size'))::float8 as limit`,
  );
  return log.kept ? Infinity : log.limit;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

import { VerificationError } from '../errors';
import type { Executor } from '../engine/Executor';
import type { MigrationSession } from '../session/MigrationSession';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { describeShared } from './description';
import { batchesOf } from './export';
import { rowExpression, type Target } from './rewrite';
import {
  type FoundSection,
  isOwnSchema,
  nameOf,
  ofTenant,
  rowAsJson,
  rowsOf,
  selectRows,
  valuesOf,
} from './sections';

/** A section of the source, and where its rows go. */
export interface Copied {
  source: FoundSection;
  destination: FoundSection;
}

/** The columns that tell the rows of a section apart, or group them. */
interface Key {
  columns: string[];
  /** Whether two rows never have the same. */
  isUnique: boolean;
  /** Whether its values can be compared. */
  isIndexed: boolean;
}

/** Some of the rows of a section, as an SQL condition. */
type Scope = (section: FoundSection) => string;

interface Difference extends Copied {
  key: Key;
  scope: Scope;
  /** The temporary table with the rows in this scope. */
  staged: string;
}

type Read = <Row>(sql: string) => Promise<Row[]>;

const BUCKETS = 4096;

/** No more rows are looked for by their keys: of more, all are compared. */
const MOST_KEYS = 10_000;

/** A deletion may cascade to rows that were equal: the next round sends these. */
const ROUNDS = 4;

/** Sends no more rows in one statement. */
const BATCH = 500;

function isRewritten({ part, table }: FoundSection): boolean {
  return !isOwnSchema(part) && describeShared(table).isRewritten === true;
}

function notThose(different: Difference[]): VerificationError {
  const names = different.map(
    ({ source: { part, table } }) => `${part} ${table}`,
  );
  return new VerificationError(
    `The copied rows of ${names.join(
      ', ',
    )} differ from the source's, where the tenant stays. Run the command again.`,
  );
}

/** The primary key; or what the row refers to, which many rows may; or all columns. */
async function keyOf(
  session: MigrationSession,
  section: FoundSection,
): Promise<Key> {
  const [found] = await session.query<{ columns: string[]; type: string }>(
    `select k.contype as type, array(
              select attname::text from unnest(k.conkey) with ordinality each (number, place)
                join pg_attribute on attrelid = k.conrelid and attnum = number order by place) as columns
       from pg_constraint k
      where k.conrelid = ${escapeLiteral(
        nameOf(section),
      )}::regclass and k.contype in ('p', 'f')
      order by k.contype = 'p' desc, cardinality(k.conkey) desc, k.conname limit 1`,
  );
  return {
    columns: found?.columns ?? section.columns,
    isUnique: found?.type === 'p',
    isIndexed: found !== undefined,
  };
}

/** The bucket of a row, as SQL. */
function bucketOf({ columns }: Key): string {
  return `hashtextextended(concat_ws(' ', ${columns
    .map(escapeIdentifier)
    .join(', ')}) collate "C", 0) & ${BUCKETS - 1}`;
}

function inBuckets(key: Key, buckets: string[]): Scope {
  return () => `(${bucketOf(key)}) = any ('{${buckets.join()}}')`;
}

/** Those that have one of some keys, which are a JSON list of objects. */
function withKeys({ columns }: Key, keys: string): Scope {
  const list = columns.map(escapeIdentifier).join(', ');
  return section =>
    `(${list}) in (select ${list} from jsonb_populate_recordset(null::${nameOf(
      section,
    )}, ${escapeLiteral(keys)}))`;
}

interface Summed {
  bucket: string;
  rows: string;
  sum: string;
}

/** Compares what two databases have of a tenant. Both servers work at the same time. */
class Comparison {
  constructor(
    private readonly reader: Executor,
    private readonly session: MigrationSession,
    private readonly tenantId: string,
    private readonly since: string | undefined,
  ) {}

  readonly #here: Read = sql => this.reader.read(sql);
  readonly #there: Read = sql => this.session.query(sql);

  /** @returns rows among which some differ; nothing where all are equal */
  async findDifference(each: Copied, key: Key): Promise<Scope | undefined> {
    if (this.since === undefined) {
      return this.#differentBuckets(each, key);
    }
    const { source, destination } = each;
    const from = (section: FoundSection) =>
      `from ${nameOf(section)} where ${ofTenant(section.part, this.tenantId)}`;
    const [[here], [there]] = await Promise.all([
      this.#here<{ rows: string; changed: string }>(
        `select count(*) as rows, count(*) filter (where ${
          this.#isNew
        }) as changed ${from(source)}`,
      ),
      this.#there<{ rows: string }>(
        `select count(*) as rows ${from(destination)}`,
      ),
    ]);
    const changed = Number(here.changed);
    if (changed === 0 && here.rows === there.rows) {
      return undefined;
    }
    const keys = await this.#changedKeys(source, key, changed);
    if (keys !== undefined) {
      const scope = withKeys(key, keys);
      const { buckets, more } = await this.#compare(each, key, scope);
      // As many as the others have, so that nothing else is gone.
      if (more === Number(here.rows) - Number(there.rows)) {
        return buckets.length > 0 ? scope : undefined;
      }
    }
    return this.#differentBuckets(each, key);
  }

  async #differentBuckets(each: Copied, key: Key): Promise<Scope | undefined> {
    const { buckets } = await this.#compare(each, key);
    return buckets.length > 0 ? inBuckets(key, buckets) : undefined;
  }

  /** @returns the buckets that differ, and how many more rows there are here */
  async #compare(
    each: Copied,
    key: Key,
    scope?: Scope,
  ): Promise<{ buckets: string[]; more: number }> {
    const [here, there] = await Promise.all([
      this.#sums(this.#here, each.source, key, scope),
      this.#sums(this.#there, each.destination, key, scope),
    ]);
    const sums = (rows: Summed[]) =>
      new Map(rows.map(row => [row.bucket, `${row.sum} ${row.rows}`]));
    const total = (rows: Summed[]) =>
      rows.reduce((sum, row) => sum + Number(row.rows), 0);
    return {
      buckets: differences(sums(here), sums(there)),
      more: total(here) - total(there),
    };
  }

  #sums(
    read: Read,
    section: FoundSection,
    key: Key,
    scope?: Scope,
  ): Promise<Summed[]> {
    return read<Summed>(
      `select bucket, sum(('x' || encode(substr(hash, 1, 8), 'hex'))::bit(64)::bigint)::text as sum,
              count(*) as rows
         -- The offset has it computed once for each row.
         from (select ${bucketOf(
           key,
         )} as bucket, sha256(convert_to((${rowAsJson(
        section,
      )})::text, 'UTF8')) as hash
                 from ${rowsOf(
                   section,
                   this.tenantId,
                   scope?.(section),
                 )} offset 0) sums
        group by 1`,
    );
  }

  /** Transaction ids are compared as PostgreSQL does it: half of all follow any other one. */
  get #isNew(): string {
    return `((xmin::text::bigint - ${this.since}) & 4294967295) < 2147483648`;
  }

  /** @returns nothing where they are too many, or can't be compared */
  async #changedKeys(
    section: FoundSection,
    key: Key,
    changed: number,
  ): Promise<string | undefined> {
    if (!key.isIndexed || changed > MOST_KEYS) {
      return undefined;
    }
    const columns = key.columns.map(escapeIdentifier);
    const [{ keys, isNull }] = await this.#here<{
      keys: string;
      isNull: boolean;
    }>(
      `select coalesce(jsonb_agg(distinct jsonb_build_object(${columns
        .map(column => `${escapeLiteral(column)}, ${column}`)
        .join(', ')})), '[]')::text as keys,
              coalesce(bool_or(num_nulls(${columns.join(
                ', ',
              )}) > 0), false) as "isNull"
         from ${nameOf(section)}
        where ${ofTenant(section.part, this.tenantId)} and ${this.#isNew}`,
    );
    return isNull ? undefined : keys;
  }
}

function differences(
  one: Map<string, string>,
  other: Map<string, string>,
): string[] {
  return [...new Set([...one.keys(), ...other.keys()])].filter(
    bucket => one.get(bucket) !== other.get(bucket),
  );
}

/**
 * Makes the rows of a tenant in one database those of another one, in the callers' transactions. It
 * compares checksums of buckets of rows, and sends only the buckets that differ.
 *
 * After a first copy, it compares only rows that were written since, and the numbers of rows. That
 * is enough: the first copy has compared all rows, no row changes without a new transaction id, and
 * nothing else writes to the destination.
 *
 * @param since - the lowest transaction id that was not visible to the copy before
 * @throws {@link VerificationError} if they differ all the same
 */
export async function copyDifference(
  reader: Executor,
  session: MigrationSession,
  sections: Copied[],
  target: Target,
  since?: string,
): Promise<void> {
  const { tenantId } = target;
  const comparison = new Comparison(reader, session, tenantId, since);
  let different: Difference[] = [];
  let compared = sections;
  for (let round = 1; round <= ROUNDS; round += 1) {
    different = [];
    for (const each of compared) {
      // Rewritten rows always differ, and are compared when they are written.
      if (round === 1 || !isRewritten(each.source)) {
        const key = await keyOf(session, each.destination);
        const scope = await comparison.findDifference(each, key);
        if (scope) {
          const staged = `staged_${different.length}`;
          different.push({ ...each, key, scope, staged });
        }
      }
    }
    if (different.length === 0) {
      return;
    }
    for (const each of different) {
      await stage(reader, session, each, target);
    }
    let hasTakenOthers = false;
    for (const each of [...different].reverse()) {
      const hasDeleted = await deleteOthers(session, each, tenantId);
      hasTakenOthers ||=
        hasDeleted && (await isReferenced(session, each.destination));
    }
    for (const each of different) {
      await insertStaged(session, each);
    }
    for (const each of different.filter(({ source }) => isRewritten(source))) {
      await requireStaged(session, each, tenantId);
    }
    for (const { staged } of different) {
      await session.query(`drop table ${staged}`);
    }
    // Tables of an engine or instance have no triggers meanwhile: what was not changed is as it
    // was, and is not compared again.
    const isAlone =
      !hasTakenOthers &&
      different.every(({ source }) => isOwnSchema(source.part));
    compared = isAlone ? different : sections;
  }
  throw notThose(different);
}

/** Brings the rows of the source into a temporary table, as they are to be. */
async function stage(
  reader: Executor,
  session: MigrationSession,
  { source, scope, staged }: Difference,
  target: Target,
): Promise<void> {
  await session.query(
    `create temporary table ${staged} (row jsonb, text text) on commit drop`,
  );
  const { row, where } = rowExpression(source, target);
  const query = selectRows(source, target.tenantId, scope(source));
  for await (const rows of batchesOf(reader, query)) {
    for (let first = 0; first < rows.length; first += BATCH) {
      await session.query(
        `insert into ${staged}
         select row, row::text from (
           select ${row} as row from jsonb_array_elements($1::jsonb) each (row) where ${where}) rows`,
        [`[${rows.slice(first, first + BATCH).join()}]`],
      );
    }
  }
  await session.query(`analyze ${staged}`);
}

/**
 * Deletes what the source has not, and leaves in the temporary table what is not there yet.
 *
 * @returns whether it has deleted any
 */
async function deleteOthers(
  session: MigrationSession,
  { destination, key, scope, staged }: Difference,
  tenantId: string,
): Promise<boolean> {
  const table = nameOf(destination);
  const columns = key.columns.map(escapeIdentifier);
  const own = `${ofTenant(destination.part, tenantId)} and ${scope(
    destination,
  )}`;
  const isStaged = `exists (
    select from keys s where ${columns
      .map(column => `s.${column} = t.${column}`)
      .join(' and ')})`;
  const [{ any }] = await session.query<{ any: boolean }>(
    `with keys as materialized (
       select ${columns.map(column => `s.${column}`).join(', ')}
         from ${staged}, jsonb_populate_record(null::${table}, row) s),
     deleted as (
       delete from ${table} t where ${own} ${
      key.isUnique ? `and not ${isStaged}` : ''
    } returning 1)
     select exists (select from deleted) as any`,
  );
  if (key.isUnique) {
    const there = selectRows(destination, tenantId, scope(destination));
    await session.query(
      `delete from ${staged} s using (${there}) there where s.text = there.row`,
    );
  }
  return any;
}

/** Whether a deletion may take rows of other tables with it. */
async function isReferenced(
  session: MigrationSession,
  section: FoundSection,
): Promise<boolean> {
  const rows = await session.query(
    `select from pg_constraint where contype = 'f' and confrelid = ${escapeLiteral(
      nameOf(section),
    )}::regclass limit 1`,
  );
  return rows.length > 0;
}

async function insertStaged(
  session: MigrationSession,
  { destination, key, staged }: Difference,
): Promise<void> {
  const table = nameOf(destination);
  const columns = destination.columns.map(escapeIdentifier);
  const unique = key.columns.map(escapeIdentifier);
  const values = columns.filter(column => !unique.includes(column));
  const change =
    values.length > 0
      ? `update set ${values
          .map(column => `${column} = excluded.${column}`)
          .join(', ')}`
      : 'nothing';
  const { values: given, from } = valuesOf(destination);
  await session.query(
    `insert into ${table} (${columns.join(', ')}) overriding system value
     select ${given} from ${staged}, ${from} ${
      key.isUnique ? `on conflict (${unique.join(', ')}) do ${change}` : ''
    }`,
  );
}

/** @throws {@link VerificationError} if the table has made others of the rows that were written */
async function requireStaged(
  session: MigrationSession,
  each: Difference,
  tenantId: string,
): Promise<void> {
  const missing = await session.query(
    `select from ${each.staged} s where text not in (${selectRows(
      each.destination,
      tenantId,
    )}) limit 1`,
  );
  if (missing.length > 0) {
    throw notThose([each]);
  }
}

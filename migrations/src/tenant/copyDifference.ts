import { VerificationError } from '../errors';
import type { Executor } from '../engine/Executor';
import type { MigrationSession } from '../session/MigrationSession';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { batchesOf } from './export';
import type { Target } from './loadPart';
import { REWRITTEN, rowExpression } from './rewrite';
import {
  type FoundSection,
  isOwnSchema,
  ofTenant,
  selectRows,
} from './sections';

/** A section of the source, and where its rows go. */
export interface Copied {
  source: FoundSection;
  destination: FoundSection;
}

/** What tells a part of the rows: 4,096 of them, by the first digits of the MD5 of the row. */
const BUCKET = `left(md5(convert_to(row, 'UTF8')), 3)`;

/** A row that others refer to takes them with it when it is deleted: they come with the next round. */
const ROUNDS = 4;

/** Sends no more rows in one statement. */
const BATCH = 500;

/**
 * Makes the rows of a tenant in one database those of another one, in the callers' transactions. It
 * compares checksums of parts of the rows, and sends only parts that differ.
 *
 * @throws {@link VerificationError} if they differ all the same
 */
export async function copyDifference(
  reader: Executor,
  session: MigrationSession,
  sections: Copied[],
  target: Target,
): Promise<void> {
  const read = <Row>(sql: string) => session.query<Row>(sql);
  const { tenantId } = target;
  const wanted = new Map<Copied, Promise<Map<string, string>>>();
  let different: Difference[] = [];
  let compared = sections;
  for (let round = 1; round <= ROUNDS; round += 1) {
    different = [];
    for (const each of compared) {
      const { source, destination } = each;
      // What is rewritten differs in any case, and is compared as it is written.
      if (round === 1 || !isRewritten(source)) {
        const ofSource =
          wanted.get(each) ?? sumsOf(sql => reader.read(sql), source, tenantId);
        wanted.set(each, ofSource);
        // Both servers work at the same time.
        const [here, there] = await Promise.all([
          ofSource,
          sumsOf(read, destination, tenantId),
        ]);
        const buckets = differences(here, there);
        if (buckets.length > 0) {
          const staged = `staged_${different.length}`;
          different.push({ ...each, buckets, staged });
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

function isRewritten({ part, table }: FoundSection): boolean {
  return part === 'registry' && REWRITTEN.includes(table);
}

function notThose(different: Difference[]): VerificationError {
  const names = different.map(
    ({ source: { part, table } }) => `${part} ${table}`,
  );
  return new VerificationError(
    `The rows of ${names.join(
      ', ',
    )} are not those of the source. The tenant stays there.`,
  );
}

interface Difference extends Copied {
  buckets: string[];
  /** The temporary table with the rows of these buckets. */
  staged: string;
}

async function sumsOf(
  read: (
    sql: string,
  ) => Promise<{ bucket: string; sum: string; rows: string }[]>,
  section: FoundSection,
  tenantId: string,
): Promise<Map<string, string>> {
  const found = await read(
    `select left(md5, 3) as bucket, sum(('x' || left(md5, 16))::bit(64)::bigint)::text as sum,
            count(*)::text as rows
       -- The offset has it computed once for each row.
       from (select md5(convert_to(row, 'UTF8')) as md5
               from (${selectRows(section, tenantId)}) rows offset 0) sums
      group by 1`,
  );
  return new Map(
    found.map(({ bucket, sum, rows }) => [bucket, `${sum} ${rows}`]),
  );
}

function differences(
  one: Map<string, string>,
  other: Map<string, string>,
): string[] {
  return [...new Set([...one.keys(), ...other.keys()])].filter(
    bucket => one.get(bucket) !== other.get(bucket),
  );
}

function rowsIn(
  section: FoundSection,
  buckets: string[],
  tenantId: string,
): string {
  return `select row from (${selectRows(section, tenantId)}) rows
    where ${BUCKET} = any (${escapeLiteral(`{${buckets.join()}}`)})`;
}

/** Brings the rows of the source into a temporary table, as they are to be. */
async function stage(
  reader: Executor,
  session: MigrationSession,
  { source, buckets, staged }: Difference,
  target: Target,
): Promise<void> {
  await session.query(
    `create temporary table ${staged} (row jsonb) on commit drop`,
  );
  const { row, where } = rowExpression(source, target);
  const query = rowsIn(source, buckets, target.tenantId);
  for await (const rows of batchesOf(reader, query)) {
    for (let first = 0; first < rows.length; first += BATCH) {
      await session.query(
        `insert into ${staged}
         select ${row} from jsonb_array_elements($1::jsonb) each (row) where ${where}`,
        [`[${rows.slice(first, first + BATCH).join()}]`],
      );
    }
  }
  await session.query(`analyze ${staged}`);
}

/**
 * Deletes what the source has not, and leaves in the temporary table what is not there yet.
 *
 * @returns whether it may have deleted any
 */
async function deleteOthers(
  session: MigrationSession,
  { destination, buckets, staged }: Difference,
  tenantId: string,
): Promise<boolean> {
  const table = nameOf(destination);
  const key = await primaryKey(session, destination);
  const there = rowsIn(destination, buckets, tenantId);
  const own = ofTenant(destination.part, tenantId);
  if (key.length === 0) {
    await session.query(
      `delete from ${table} where ctid = any (array(
         select r.ctid from ${table} r, lateral (select to_jsonb(c)::text as row from (
           select ${destination.columns
             .map(column => `r.${escapeIdentifier(column)}`)
             .join(', ')}) c) rows
          where ${own} and ${BUCKET} = any (${escapeLiteral(
        `{${buckets.join()}}`,
      )})))`,
    );
    return true;
  }
  const keyOf = (row: string) =>
    key.map(column => `${row} -> ${escapeLiteral(column)}`).join(', ');
  const [{ any }] = await session.query<{ any: boolean }>(
    `with there as (select row::jsonb as row from (${there}) rows),
     gone as (
       select row from there
        where not exists (select from ${staged} s where (${keyOf(
      's.row',
    )}) = (${keyOf('there.row')}))),
     deleted as (delete from ${table} t
      using gone, jsonb_populate_record(null::${table}, gone.row) k
      where ${own.replace('tenant_id', 't.tenant_id')} and ${key
      .map(
        column =>
          `t.${escapeIdentifier(column)} = k.${escapeIdentifier(column)}`,
      )
      .join(' and ')} returning 1)
     select exists (select from deleted) as any`,
  );
  await session.query(
    `delete from ${staged} s using (${there}) there where s.row::text = there.row`,
  );
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
  { destination, staged }: Difference,
): Promise<void> {
  const table = nameOf(destination);
  const columns = destination.columns.map(escapeIdentifier);
  const key = (await primaryKey(session, destination)).map(escapeIdentifier);
  const values = columns.filter(column => !key.includes(column));
  const onConflict =
    key.length === 0
      ? ''
      : `on conflict (${key.join(', ')}) do ${
          values.length > 0
            ? `update set ${values
                .map(column => `${column} = excluded.${column}`)
                .join(', ')}`
            : 'nothing'
        }`;
  await session.query(
    `insert into ${table} (${columns.join(', ')}) overriding system value
     select ${columns.map(column => `r.${column}`).join(', ')}
       from ${staged}, jsonb_populate_record(null::${table}, row) r ${onConflict}`,
  );
}

/** @throws {@link VerificationError} if the table has made others of the rows that were written */
async function requireStaged(
  session: MigrationSession,
  each: Difference,
  tenantId: string,
): Promise<void> {
  const missing = await session.query(
    `select from ${each.staged} s where row::text not in (${selectRows(
      each.destination,
      tenantId,
    )}) limit 1`,
  );
  if (missing.length > 0) {
    throw notThose([each]);
  }
}

async function primaryKey(
  session: MigrationSession,
  { schema, table }: FoundSection,
): Promise<string[]> {
  const rows = await session.query<{ name: string }>(
    `select a.attname as name from pg_index i
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
      where i.indisprimary and i.indrelid = to_regclass(format('%I.%I', $1::text, $2::text))`,
    [schema, table],
  );
  return rows.map(({ name }) => name);
}

/** As SQL names the table. */
export function nameOf({ schema, table }: FoundSection): string {
  return `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`;
}

import type { StepContext } from '../engine/Step';
import { RefusedError, VerificationError } from '../errors';
import type { MigrationSession } from '../session/MigrationSession';
import { readerOf } from '../engine/Executor';
import { escapeIdentifier } from '../sql';
import { type Header, readArchive, type Section } from './archive';
import {
  announce,
  emptyTables,
  fillOwnTables,
  fillWithoutIndexes,
} from './partTables';
import { describeShared } from './description';
import { rowExpression } from './rewrite';
import {
  type FoundSection,
  isOwnSchema,
  mockupSections,
  nameOf,
  ofTenant,
  registrySections,
  selectRows,
} from './sections';

/** Rows in one statement. */
export const BATCH = 500;

/** A checksum of the rows of a query that has them as `row`, in any order, as SQL. */
const ROW_SUM = `coalesce(sum(
  ('x' || left(md5(convert_to(row, 'UTF8')), 16))::bit(64)::bigint), 0)::text`;

/** The tenant that is made, or replaced. */
export interface Target {
  tenantId: string;
  slug: string;
  /** What it had in the file. */
  from: Header['tenant'];
  /** Whether it is created as deleted, so that no request enters it yet. */
  isClosed?: boolean;
}

/**
 * Writes the rows of one part of a file, and compares them with what was given, in the caller's
 * transaction.
 *
 * @throws {@link VerificationError} if they differ
 */
export async function loadPart(
  context: StepContext,
  session: MigrationSession,
  { file, replace = false }: { file: string; replace?: boolean },
  { part, schema }: { part: string; schema: string },
  target: Target,
): Promise<void> {
  const isTaken = ({ part: of, table }: Section) =>
    of === part && !(replace && describeShared(table).isKept);
  const fill = async () => {
    const sums = await insertAll(session, file, schema, target, isTaken);
    await requireSums(session, sums, { part, schema }, target);
  };
  if (isOwnSchema(part)) {
    await fillOwnTables(session, schema, async () => {
      await emptyTables(session, schema);
      await fillWithoutIndexes(session, schema, fill);
    });
  } else {
    if (replace) {
      await deleteRowsOf(session, { part, schema }, target.tenantId);
    }
    await fill();
  }
  if (part === 'registry') {
    await announce(session, context.settings.schema, target.slug);
  }
}

/** @returns the checksums of what it has written, by section */
async function insertAll(
  session: MigrationSession,
  file: string,
  schema: string,
  target: Target,
  isTaken: (section: Section) => boolean,
): Promise<Map<Section, bigint>> {
  const sums = new Map<Section, bigint>();
  await readArchive(file, BATCH, async (section, rows) => {
    if (isTaken(section)) {
      if (!sums.has(section)) {
        await requireTable(session, section, schema);
      }
      const found = { ...section, schema };
      const sum = await insertRows(session, found, rows, target);
      sums.set(section, (sums.get(section) ?? 0n) + sum);
    }
  });
  return sums;
}

/** @throws {@link VerificationError} if the tables have other rows */
async function requireSums(
  session: MigrationSession,
  sums: Map<Section, bigint>,
  { part, schema }: { part: string; schema: string },
  { tenantId }: Target,
): Promise<void> {
  for (const [section, expected] of sums) {
    const [{ sum }] = await session.query<{ sum: string }>(
      `select ${ROW_SUM} as sum from (${selectRows(
        { ...section, schema },
        tenantId,
      )}) rows`,
    );
    if (BigInt(sum) !== expected) {
      throw new VerificationError(
        `The rows of ${part} ${section.table} are not those of the file. Nothing was imported.`,
      );
    }
  }
}

/** @throws {@link RefusedError} for a table that no migration has made */
export async function requireTable(
  session: MigrationSession,
  { part, table }: Pick<Section, 'part' | 'table'>,
  schema: string,
): Promise<void> {
  const [{ exists }] = await session.query<{ exists: boolean }>(
    `select to_regclass(format('%I.%I', $1::text, $2::text)) is not null as exists`,
    [schema, table],
  );
  if (!exists) {
    throw new RefusedError(
      `There is no table ${table} for the rows of ${part}, as its migrations make none. Import the file with the version that wrote it.`,
    );
  }
}

/** @returns the checksum of what it has written */
async function insertRows(
  session: MigrationSession,
  section: FoundSection,
  rows: string[],
  target: Target,
): Promise<bigint> {
  const name = nameOf(section);
  const columns = section.columns.map(escapeIdentifier);
  const { row, where } = rowExpression(section, target);
  const [{ sum }] = await session.query<{ sum: string }>(
    `with given as (
       select ${row} as row from jsonb_array_elements($1::jsonb) each (row) where ${where}
     ), written as (
       insert into ${name} (${columns.join(', ')}) overriding system value
       select ${columns.map(column => `r.${column}`).join(', ')}
         from given, jsonb_populate_record(null::${name}, given.row) r
     )
     select ${ROW_SUM} as sum from (select row::text as row from given) rows`,
    [`[${rows.join(',')}]`],
  );
  return BigInt(sum);
}

/** In the caller's transaction, for which readers of the rows do not wait. */
async function deleteRowsOf(
  session: MigrationSession,
  { part, schema }: { part: string; schema: string },
  tenantId: string,
): Promise<void> {
  const reader = readerOf(session);
  const sections =
    part === 'registry'
      ? await registrySections(reader, schema)
      : await mockupSections(reader);
  for (const section of sections.reverse()) {
    if (!describeShared(section.table).isKept) {
      await session.query(
        `delete from ${nameOf(section)} where ${ofTenant(part, tenantId)}`,
      );
    }
  }
}

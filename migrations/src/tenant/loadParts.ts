import type { StepContext } from '../engine/Step';
import { RefusedError, VerificationError } from '../errors';
import type { MigrationSession } from '../session/MigrationSession';
import { readerOf } from '../engine/Executor';
import { escapeIdentifier } from '../sql';
import { enumerate } from '../text';
import { readArchive, type Section } from './archive';
import { announce, fillOwnTables, fillWithoutIndexes } from './partTables';
import { describeShared } from './description';
import { type Place, whereIs } from './places';
import { allowWritesOnCommit } from './refusedWrites';
import { rowExpression, type Target } from './rewrite';
import {
  type FoundSection,
  isOwnSchema,
  mockupSections,
  nameOf,
  ofTenant,
  registrySections,
  sectionsOf,
  selectRows,
  valuesOf,
} from './sections';

/** Rows in one statement. */
export const BATCH = 500;

/** A checksum of the rows of a query that has them as `row`, in any order, as SQL. */
const ROW_SUM = `coalesce(sum(
  ('x' || encode(substr(sha256(convert_to(row, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint), 0)::text`;

/** A part of a file, and where its rows go. */
export interface PartPlace {
  part: string;
  session: MigrationSession;
  schema: string;
}

/** A table, and the checksum of what was written to it. */
interface Filled {
  section: FoundSection;
  session: MigrationSession;
  sum: bigint;
}

type Work = () => Promise<void>;

/**
 * Writes the rows of a file, and compares them with what was given. Each session has one
 * transaction for its parts. The registry's is the last to commit: until then nothing refers to the
 * tenant. Where one is replaced it is the first: the engine, which would change the entities of the
 * file, waits until readers have them.
 *
 * @param source - with the checksum by which the file was checked
 * @throws {@link VerificationError} if they differ
 */
export async function loadParts(
  context: StepContext,
  source: { file: string; sha256: string; replace?: boolean },
  parts: PartPlace[],
  target: Target,
): Promise<void> {
  const { replace = false } = source;
  const registry = context.executor.session;
  const sessions = new Set([registry, ...parts.map(({ session }) => session)]);
  const outerFirst = replace ? [...sessions].reverse() : [...sessions];
  const inTransaction = (session: MigrationSession, inside: Work) =>
    session.transaction('begin', async () => {
      if (session !== registry) {
        await allowWritesOnCommit(session, target.tenantId);
      }
      await parts
        .filter(each => each.session === session)
        .reduceRight<Work>(
          (inner, part) => () =>
            fillPart(context, part, target.slug, async () => {
              if (replace && !isOwnSchema(part.part)) {
                await deleteRowsOf(part, target.tenantId);
              }
              await inner();
            }),
          inside,
        )();
    });
  await outerFirst.reduceRight<Work>(
    (inside, session) => () => inTransaction(session, inside),
    () =>
      insertAll(source, target, ({ part, table }) =>
        replace && describeShared(table).isKept
          ? undefined
          : parts.find(each => each.part === part),
      ),
  )();
}

/** Prepares the tables of a part for its rows. */
async function fillPart(
  context: StepContext,
  { part, session, schema }: PartPlace,
  slug: string,
  fill: Work,
): Promise<void> {
  if (isOwnSchema(part)) {
    await fillOwnTables(context, session, schema, () =>
      fillWithoutIndexes(session, schema, fill),
    );
  } else {
    await fill();
  }
  if (part === 'registry') {
    await announce(session, context.settings.schema, slug);
  }
}

/** @param placeOf - where the rows of a section go; undefined for those that are left out */
async function insertAll(
  { file, sha256 }: { file: string; sha256: string },
  target: Target,
  placeOf: (section: Section) => PartPlace | undefined,
): Promise<void> {
  const filled = new Map<Section, Filled>();
  const { footer } = await readArchive(file, BATCH, async (section, rows) => {
    const place = placeOf(section);
    if (place) {
      const into = filled.get(section) ?? (await findTable(place, section));
      filled.set(section, into);
      into.sum += await insertRows(into, rows, target);
    }
  });
  if (footer.sha256 !== sha256) {
    throw new RefusedError(
      `${file} was replaced meanwhile, and nothing was imported. Run the command again.`,
    );
  }
  for (const into of filled.values()) {
    await requireSum(into, target);
  }
}

/** @throws {@link RefusedError} for a table or columns that no migration has made */
async function findTable(
  { session, schema }: PartPlace,
  { part, table, columns }: Section,
): Promise<Filled> {
  await requireTable(session, { part, table, columns }, schema);
  const [found] = await sectionsOf(readerOf(session), part, schema, [table]);
  return { section: { ...found, columns }, session, sum: 0n };
}

/** @throws {@link VerificationError} if the table has other rows */
async function requireSum(
  { session, section, sum: expected }: Filled,
  { tenantId }: Target,
): Promise<void> {
  const [{ sum }] = await session.query<{ sum: string }>(
    `select ${ROW_SUM} as sum from (${selectRows(section, tenantId)}) rows`,
  );
  if (BigInt(sum) !== expected) {
    throw new VerificationError(
      `The imported rows of ${section.part} ${section.table} differ from those in the file. Nothing was imported: run the command again.`,
    );
  }
}

/** Calls {@link requireTable} for the tables that all tenants share. */
export async function requireShared(
  context: StepContext,
  places: Place[],
  sections: Omit<Section, 'rows'>[],
  target: Target,
): Promise<void> {
  for (const section of sections.filter(({ part }) => !isOwnSchema(part))) {
    const { executor, schema } = await whereIs(
      context,
      places,
      section.part,
      target,
    );
    await requireTable(executor.session, section, schema);
  }
}

/** @throws {@link RefusedError} for a table or columns that no migration has made */
export async function requireTable(
  session: MigrationSession,
  { part, table, columns }: Omit<Section, 'rows'>,
  schema: string,
): Promise<void> {
  const missing = await session.query<{ name: string }>(
    `select name from unnest($2::text[]) name
      where not exists (select from pg_attribute
                         where attrelid = to_regclass($1) and attname = name and not attisdropped)`,
    [nameOf({ schema, table }), columns],
  );
  if (missing.length > 0) {
    throw new RefusedError(
      `The rows of ${part} ${table} have ${enumerate(
        missing.map(({ name }) => name),
      )}, for which there is no table or column. Use the version that wrote them.`,
    );
  }
}

/** @returns the checksum of what it has written */
async function insertRows(
  { session, section }: Filled,
  rows: string[],
  target: Target,
): Promise<bigint> {
  const columns = section.columns.map(escapeIdentifier);
  const { row, where } = rowExpression(section, target);
  const { values, from } = valuesOf(section);
  const [{ sum }] = await session.query<{ sum: string }>(
    `with given as (
       select ${row} as row from jsonb_array_elements($1::jsonb) each (row) where ${where}
     ), written as (
       insert into ${nameOf(section)} (${columns.join(
      ', ',
    )}) overriding system value
       select ${values} from given, ${from}
     )
     select ${ROW_SUM} as sum from (select row::text as row from given) rows`,
    [`[${rows.join(',')}]`],
  );
  return BigInt(sum);
}

/** In the caller's transaction, for which readers of the rows do not wait. */
async function deleteRowsOf(
  { part, session, schema }: PartPlace,
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

import type { StepContext } from '../engine/Step';
import { RefusedError, VerificationError } from '../errors';
import { notifyRegistryStatement } from '../registryChannel';
import { RETIRED_TABLE } from '../schema/tables';
import type { MigrationSession } from '../session/MigrationSession';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { type Header, readArchive, ROW_SUM, type Section } from './archive';
import { rowExpression } from './rewrite';
import {
  type FoundSection,
  mockupSections,
  registrySections,
  selectRows,
  tablesInOrder,
} from './sections';

/** Rows in one statement. */
export const BATCH = 500;

/** What a replacement leaves as it is: that there is the tenant, who did what, and what it used. */
const KEPT = ['tenants', 'tenant_audit', 'tenant_usage', 'tenant_usage_people'];

/** The tenant that is made, or replaced. */
export interface Target {
  tenantId: string;
  slug: string;
  /** What it had in the file. */
  from: Header['tenant'];
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
  const isOwnSchema = part !== 'registry' && part !== 'mockups';
  const isTaken = ({ part: of, table }: Section) =>
    of === part && !(replace && KEPT.includes(table));
  if (isOwnSchema) {
    await lockTables(session, schema);
  } else if (replace) {
    await deleteRowsOf(session, { part, schema }, target.tenantId);
  }
  const enable = isOwnSchema ? await disableTriggers(session, schema) : [];
  const sums = new Map<string, bigint>();
  if (isOwnSchema) {
    await emptyTables(session, schema);
  }
  const { header } = await readArchive(file, BATCH, async (section, rows) => {
    if (isTaken(section)) {
      await requireTable(session, section, schema);
      const sum = await insertRows(
        session,
        { ...section, schema },
        rows,
        target,
      );
      sums.set(section.table, (sums.get(section.table) ?? 0n) + sum);
    }
  });
  for (const section of header.sections.filter(isTaken)) {
    if (section.rows === 0) {
      continue;
    }

    const [{ sum }] = await session.query<{ sum: string }>(
      `select ${ROW_SUM} as sum from (${selectRows(
        { ...section, schema },
        target.tenantId,
      )}) rows`,
    );
    if (BigInt(sum) !== (sums.get(section.table) ?? 0n)) {
      throw new VerificationError(
        `The rows of ${part} ${section.table} are not those of the file. Nothing was imported.`,
      );
    }
  }
  for (const statement of enable) {
    await session.query(statement);
  }
  if (isOwnSchema) {
    await advanceSequences(session, schema);
  }
  if (part === 'registry') {
    await session.query(
      `delete from ${RETIRED_TABLE} where tenant_slug = ${escapeLiteral(
        target.slug,
      )};
       ${notifyRegistryStatement(context.settings.schema, {
         tenantSlug: target.slug,
       })}`,
    );
  }
}

/** @throws {@link RefusedError} for a table that no migration has made */
async function requireTable(
  session: MigrationSession,
  { part, table }: Section,
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
  section: FoundSection & { rows: number },
  rows: string[],
  target: Target,
): Promise<bigint> {
  const { schema, table, columns } = section;
  const name = `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`;
  const list = columns.map(escapeIdentifier).join(', ');
  const { row, where } = rowExpression(section, target);
  const [{ sum }] = await session.query<{ sum: string }>(
    `with given as (
       select ${row} as row from jsonb_array_elements($1::jsonb) each (row) where ${where}
     ), written as (
       insert into ${name} (${list}) overriding system value
       select ${columns
         .map(column => `r.${escapeIdentifier(column)}`)
         .join(', ')}
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
  const reader = {
    read: <Row>(sql: string, values?: unknown[]) =>
      session.query<Row>(sql, values),
  };
  const sections =
    part === 'registry'
      ? await registrySections(reader, schema)
      : await mockupSections(reader);
  // The trash last, where a trigger puts mockups that are deleted.
  const [trash, others] = [true, false].map(wanted =>
    sections.filter(({ table }) => table.includes('trash') === wanted),
  );
  for (const { table } of [...others.reverse(), ...trash.reverse()]) {
    if (!KEPT.includes(table)) {
      await session.query(
        `delete from ${escapeIdentifier(schema)}.${escapeIdentifier(
          table,
        )} where tenant_id = ${escapeLiteral(tenantId)}`,
      );
    }
  }
}

/**
 * All at once, before a weaker lock of one of them. Locks: ACCESS EXCLUSIVE on the tables of one
 * engine or instance, which waits until the end; nobody reads them but itself.
 */
async function lockTables(
  session: MigrationSession,
  schema: string,
): Promise<void> {
  const tables = await tablesInOrder(session, schema);
  if (tables.length > 0) {
    const names = tables.map(
      table => `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`,
    );
    await session.query(
      `lock table ${names.join(', ')} in access exclusive mode`,
    );
  }
}

/** Migrations may fill tables. */
async function emptyTables(
  session: MigrationSession,
  schema: string,
): Promise<void> {
  const tables = await tablesInOrder(session, schema);
  if (tables.length > 0) {
    const names = tables.map(
      table => `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`,
    );
    await session.query(`truncate ${names.join(', ')}`);
  }
}

/**
 * The rows come with what their triggers have made of them.
 *
 * @returns the statements that enable them again
 */
async function disableTriggers(
  session: MigrationSession,
  schema: string,
): Promise<string[]> {
  const triggers = await session.query<{
    table: string;
    trigger: string;
    mode: string;
  }>(
    `select format('%I.%I', n.nspname, c.relname) as table, quote_ident(t.tgname) as trigger,
            case t.tgenabled when 'A' then 'enable always' when 'R' then 'enable replica' else 'enable' end as mode
       from pg_trigger t join pg_class c on c.oid = t.tgrelid
       join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and not t.tgisinternal and t.tgenabled <> 'D'`,
    [schema],
  );
  for (const { table, trigger } of triggers) {
    await session.query(`alter table ${table} disable trigger ${trigger}`);
  }
  return triggers.map(
    ({ table, trigger, mode }) =>
      `alter table ${table} ${mode} trigger ${trigger}`,
  );
}

async function advanceSequences(
  session: MigrationSession,
  schema: string,
): Promise<void> {
  const columns = await session.query<{
    table: string;
    column: string;
    sequence: string;
  }>(
    `select format('%I.%I', n.nspname, c.relname) as table, quote_ident(a.attname) as column,
            pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname) as sequence
       from pg_attribute a join pg_class c on c.oid = a.attrelid and c.relkind = 'r'
       join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and a.attnum > 0 and not a.attisdropped
        and pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname) is not null`,
    [schema],
  );
  for (const { table, column, sequence } of columns) {
    await session.query(
      `select setval(${escapeLiteral(
        sequence,
      )}, coalesce((select max(${column}) from ${table}), 0) + 1, false)`,
    );
  }
}

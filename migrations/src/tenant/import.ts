import { createHash } from 'node:crypto';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { RefusedError, VerificationError } from '../errors';
import { notifyRegistryStatement } from '../registryChannel';
import { RETIRED_TABLE } from '../schema/tables';
import type { MigrationSession } from '../session/MigrationSession';
import { escapeIdentifier, escapeLiteral } from '../sql';
import { type Footer, type Header, readArchive, ROW_SUM } from './archive';
import { withPlaces } from './places';
import type { Place, Portal } from './places';
import { digestOf, removeLeftovers } from './purge';
import { rowExpression } from './rewrite';
import {
  type FoundSection,
  isKnown,
  mockupSections,
  registrySections,
  schemaOfPart,
  selectRows,
  tablesInOrder,
} from './sections';
import type { MakeTables } from './tables';

/** Rows in one statement. */
const BATCH = 500;

/** The tenant that is made. */
export interface Target {
  tenantId: string;
  slug: string;
  /** What it had in the file. */
  from: Header['tenant'];
}

export interface ImportOptions {
  file: string;
  /** In place of the one in the file. */
  slug?: string;
  portal: Portal;
  makeTables: MakeTables;
}

/** What an import has made. */
export interface ImportReport {
  tenantId: string;
  slug: string;
  /** By `part table`. */
  rows: Record<string, number>;
}

/**
 * Makes a tenant of an export. The registry's row comes last, in one transaction with the
 * entities: until then nothing refers to the id. An import that was stopped is begun anew, with
 * the same id, and first removes what the one before has left.
 *
 * @throws {@link RefusedError} for a file that is damaged, and a slug that is taken
 */
export async function importTenant(
  context: StepContext,
  options: ImportOptions,
): Promise<ImportReport> {
  const { file, portal, makeTables } = options;
  const { reporter } = context;
  reporter.info('Checking the file');
  const { header, footer } = await readArchive(
    file,
    BATCH,
    async () => undefined,
  );
  const registry = await registrySections(
    context.executor,
    context.settings.schema,
  );
  const unknown = header.sections.find(each => !isKnown(each, registry));
  if (unknown) {
    throw new RefusedError(
      `${file} has rows of ${unknown.part} ${unknown.table}, which this version does not import. Use the version that wrote it.`,
    );
  }
  const target = await chooseTarget(context, header, footer, options.slug);
  const report = {
    tenantId: target.tenantId,
    slug: target.slug,
    rows: Object.fromEntries(
      header.sections.map(({ part, table, rows }) => [
        `${part} ${table}`,
        rows,
      ]),
    ),
  };
  if (context.executor.dryRun) {
    return report;
  }
  await withPlaces(context, portal, async places => {
    await removeLeftovers(context, places, target.tenantId);
    for (const part of partsOf(header)) {
      const { connection } = placeOf(places, part);
      reporter.info(`Making the tables: ${part}`);
      await makeTables({
        connection,
        part,
        tenantId: target.tenantId,
        schema: schemaOfPart(part, target.tenantId),
        migrations: header.migrations[part] ?? [],
      });
    }
    await load(context, places, options.file, header, target);
  });
  return report;
}

function partsOf({ migrations, sections }: Header): string[] {
  return [
    ...new Set([
      ...Object.keys(migrations),
      ...sections.map(({ part }) => part),
    ]),
  ].filter(part => part === 'engine' || part.startsWith('plugin '));
}

/** The database of a plugin, where each has its own. */
function placeOf(places: Place[], part: string): Place {
  const plugin = part.replace('plugin ', '');
  return (
    places.find(
      ({ database }) => part !== 'engine' && database.endsWith(`_${plugin}`),
    ) ?? places[0]
  );
}

async function chooseTarget(
  { executor }: StepContext,
  { tenant: from }: Header,
  { sha256 }: Footer,
  wanted: string = from.slug,
): Promise<Target> {
  if (!/^[a-z0-9-]{1,63}$/.test(wanted) || ['www', 'mine'].includes(wanted)) {
    throw new RefusedError(
      `The slug "${wanted}" can't be one. Expected 1 to 63 characters of a-z, 0-9 and -, such as "acme".`,
    );
  }
  const taken = await executor.read(
    `select from tenants where tenant_slug = $1
      union all
     select from ${RETIRED_TABLE} where tenant_slug = $1 and tenant_digest <> decode($2, 'hex')`,
    [wanted, digestOf(from.id)],
  );
  if (taken.length > 0) {
    throw new RefusedError(
      `The slug "${wanted}" is taken. Give another one with --slug.`,
    );
  }
  const [{ isTaken, isPurged }] = await executor.read<{
    isTaken: boolean;
    isPurged: boolean;
  }>(
    `select exists (select from tenants where tenant_id = $1) as "isTaken",
            exists (select from ${RETIRED_TABLE} where tenant_id = $1) as "isPurged"`,
    [from.id],
  );
  if (isPurged) {
    throw new RefusedError(
      `The purge of the tenant "${from.slug}" is not complete. End it first.`,
    );
  }
  return {
    slug: wanted,
    tenantId: isTaken ? uuidOf(`${sha256} ${wanted}`) : from.id,
    from,
  };
}

/** The same for each run with the same file. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

/** Where the rows of a part go, in a transaction that ends with the part. */
interface Load {
  part: string;
  executor: Executor;
  schema: string;
}

async function load(
  context: StepContext,
  places: Place[],
  file: string,
  header: Header,
  target: Target,
): Promise<void> {
  const mockups = await mockupPlace(places);
  const loads = new Map<string, Load>();
  const loadOf = (part: string): Load => {
    if (part === 'registry') {
      return {
        part,
        executor: context.executor,
        schema: context.settings.schema,
      };
    }
    if (part !== 'mockups') {
      return {
        part,
        executor: placeOf(places, part).executor,
        schema: schemaOfPart(part, target.tenantId),
      };
    }
    if (!mockups) {
      throw new RefusedError(
        'The file has mockups, and no database of the portal has the tables of the mockup plugin. Start the backend once, or give --config or --database.',
      );
    }
    return { part, ...mockups };
  };
  for (const { part } of header.sections) {
    loads.set(part, loads.get(part) ?? loadOf(part));
  }
  // The registry's transaction is the last one, as what it commits is what others see.
  const order = [...loads.values()].sort(
    (one, other) =>
      Number(one.part === 'registry') - Number(other.part === 'registry'),
  );
  for (const each of order) {
    await each.executor.work({
      title: `Import ${each.part}`,
      script: [],
      run: session =>
        session.transaction('begin', () =>
          loadPart(context, session, file, each, target),
        ),
    });
  }
}

async function mockupPlace(
  places: Place[],
): Promise<{ executor: Executor; schema: string } | undefined> {
  for (const { executor } of places) {
    const [found] = await mockupSections(executor);
    if (found) {
      return { executor, schema: found.schema };
    }
  }
  return undefined;
}

async function loadPart(
  context: StepContext,
  session: MigrationSession,
  file: string,
  { part, schema }: Load,
  target: Target,
): Promise<void> {
  const isOwnSchema = part !== 'registry' && part !== 'mockups';
  const enable = isOwnSchema ? await disableTriggers(session, schema) : [];
  const sums = new Map<string, bigint>();
  if (isOwnSchema) {
    await emptyTables(session, schema);
  }
  const { header } = await readArchive(file, BATCH, async (section, rows) => {
    if (section.part === part) {
      const sum = await insertRows(
        session,
        { ...section, schema },
        rows,
        target,
      );
      sums.set(section.table, (sums.get(section.table) ?? 0n) + sum);
    }
  });
  for (const section of header.sections.filter(each => each.part === part)) {
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

/** Migrations may fill tables. Locks: ACCESS EXCLUSIVE on tables that nobody knows of yet. */
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

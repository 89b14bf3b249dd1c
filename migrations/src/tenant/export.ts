import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import { requireTenant } from '../adopt/engine';
import type { RegisteredTenant } from '../adopt/engine';
import { RefusedError } from '../errors';
import { operatorCommand } from '../operatorCommand';
import { refuseSharedId } from '../rollback/tenantSchemas';
import { lockableTables } from '../schema/partitions';
import { READY_TABLE } from '../schema/tables';
import { lockForReading } from '../session/lockRetries';
import { escapeIdentifier, escapeLiteral } from '../sql';
import {
  ArchiveWriter,
  BATCH_LENGTH,
  FORMAT,
  FORMAT_VERSION,
  type Header,
} from './archive';
import { BEGIN_SNAPSHOT, inSnapshots } from './places';
import type { Place } from './places';
import { refuseHalfPurged } from './purge';
import { refuseWithoutRightsOn } from './rights';
import {
  type FoundSection,
  mockupSections,
  nameOf,
  partOf,
  registrySections,
  schemaOfPart,
  schemaSections,
  selectRows,
} from './sections';

/** A section, and the session that reads it. */
interface Source extends FoundSection {
  reader: Executor;
  rows: number;
}

/** What an export has. */
export interface ExportReport {
  tenantId: string;
  /** By `part table`. */
  rows: Record<string, number>;
}

// A table that does not exist, or its schema.
const GONE = ['42P01', '3F000'];

const FIRST_BATCH = 10;
// The rows that follow short ones may be long.
const LARGEST_BATCH = 200;

/**
 * Writes everything of a tenant, deleted or not, to a file. Each database is read in one
 * snapshot and by cursors, so that the memory it needs does not grow with the tenant.
 *
 * Locks: ACCESS SHARE on the tables until the end. It blocks only ALTER TABLE and the like, such
 * as an upgrade of the tenant's engine.
 *
 * @throws {@link RefusedError} if there is no such tenant, another registry has one of its id, or
 *   its purge was begun, and where the login lacks rights
 * @throws {@link UsageError} if the file can't be written
 */
export async function exportFrom(
  context: StepContext,
  places: Place[],
  { slug: slugOrId, file }: { slug: string; file: string },
): Promise<ExportReport> {
  const tenant = await requireTenant(context, slugOrId);
  const { tenantId, slug } = tenant;
  await refuseSharedId(context, tenantId);
  await refuseWithoutRightsOn(places, tenantId, {
    own: ['select'],
    mockups: ['select'],
  });
  return inSharedSnapshots(context, places, tenant, async () => {
    await refuseHalfPurged(context, tenantId);
    const sources = await findSources(context, places, tenantId);
    const writer = new ArchiveWriter(file);
    try {
      await writer.write([
        JSON.stringify(
          await headerOf(context, places, { id: tenantId, slug }, sources),
        ),
      ]);
      for (const source of sources) {
        await writeRows(context, writer, source, tenantId);
      }
      await writer.finish();
    } catch (error) {
      throw await writer.giveUp(error);
    }
    return {
      tenantId,
      rows: Object.fromEntries(
        sources.map(({ part, table, rows }) => [`${part} ${table}`, rows]),
      ),
    };
  });
}

/**
 * Both sessions in the database of the catalog see the same.
 *
 * The locks come before the snapshot, which would not show the rows that a rollback, a move of
 * partitions or an import writes to other tables or after a TRUNCATE: these wait, or are waited for.
 *
 * @throws {@link RefusedError} once a rollback has begun, or a purge meanwhile
 */
async function inSharedSnapshots<T>(
  { executor }: StepContext,
  places: Place[],
  { tenantId, slug }: RegisteredTenant,
  work: () => Promise<T>,
): Promise<T> {
  const readers = places.map(each => each.executor);
  const own = await Promise.all(
    readers.map(reader => schemaSections(reader, tenantId)),
  );
  const tables = [READY_TABLE, ...(await lockableTables(executor))];
  return executor.session.transaction(BEGIN_SNAPSHOT, async () => {
    await keepTables(
      executor,
      tables,
      `The tables of tenants are out of use, since a rollback has begun. Run "${operatorCommand(
        'status',
      )}".`,
    );
    return inSnapshots(readers, async () => {
      for (const [index, reader] of readers.entries()) {
        await keepTables(
          reader,
          own[index].map(nameOf),
          `Tables of the tenant "${slug}" were dropped meanwhile, as by a purge. Run the command again: it says so.`,
        );
      }
      const [{ snapshot }] = await readers[0].read<{ snapshot: string }>(
        'select pg_export_snapshot() as snapshot',
      );
      await executor.execute(
        `set transaction snapshot ${escapeLiteral(snapshot)}`,
      );
      return work();
    });
  });
}

/** @param refusal - what to say where one of them is gone */
async function keepTables(
  executor: Executor,
  tables: string[],
  refusal: string,
): Promise<void> {
  if (tables.length > 0) {
    await executor.execute(lockForReading(tables)).catch(error => {
      throw GONE.includes(error.code) ? new RefusedError(refusal) : error;
    });
  }
}

async function findSources(
  { executor, settings }: StepContext,
  places: Place[],
  tenantId: string,
): Promise<Source[]> {
  const sources: Source[] = [];
  const add = async (reader: Executor, sections: FoundSection[]) => {
    for (const section of sections) {
      const [{ rows }] = await reader.read<{ rows: number }>(
        `select count(*)::float8 as rows from (${selectRows(
          section,
          tenantId,
        )}) s`,
      );
      sources.push({ ...section, reader, rows });
    }
  };
  await add(executor, await registrySections(executor, settings.schema));
  for (const { executor: reader } of places) {
    await add(reader, await schemaSections(reader, tenantId));
    await add(reader, await mockupSections(reader));
  }
  return sources;
}

async function headerOf(
  { executor }: StepContext,
  places: Place[],
  tenant: Header['tenant'],
  sources: Source[],
): Promise<Header> {
  const [{ version }] = await executor.read<{ version: string }>(
    `select current_setting('server_version') as version`,
  );
  return {
    format: FORMAT,
    version: FORMAT_VERSION,
    exported: new Date().toISOString(),
    postgresql: version,
    tenant,
    migrations: await migrationsOf(places, tenant.id),
    sections: sources.map(({ part, table, columns, rows }) => ({
      part,
      table,
      columns,
      rows,
    })),
  };
}

/** By part of the tenant that has tables, the migrations that have made them. */
export async function migrationsOf(
  places: Place[],
  tenantId: string,
): Promise<Header['migrations']> {
  const migrations: Header['migrations'] = {};
  for (const { executor: reader } of places) {
    const found = await reader.read<{ schema: string }>(
      `select n.nspname as schema from pg_namespace n
         join pg_class c on c.relnamespace = n.oid and c.relname = 'knex_migrations'
        where n.nspname ~ $1`,
      [`^${schemaOfPart('engine', tenantId)}(_|$)`],
    );
    for (const { schema } of found) {
      const rows = await reader.read<{ name: string }>(
        `select name from ${escapeIdentifier(
          schema,
        )}.knex_migrations order by id`,
      );
      migrations[partOf(schema, tenantId)] = rows.map(({ name }) => name);
    }
  }
  return migrations;
}

async function writeRows(
  { reporter }: StepContext,
  writer: ArchiveWriter,
  source: Source,
  tenantId: string,
): Promise<void> {
  const { reader, part, table } = source;
  const progress = reporter.progress(`Export ${part} ${table}`, source.rows);
  for await (const rows of batchesOf(reader, selectRows(source, tenantId))) {
    await writer.write(rows);
    progress.advance(rows.length);
  }
  progress.finish();
}

/** The rows of a query that has them as `row`, in the caller's transaction. */
export async function* batchesOf(
  reader: Pick<Executor, 'execute' | 'read'>,
  query: string,
): AsyncGenerator<string[]> {
  await reader.execute(`declare tenant_rows no scroll cursor for ${query}`);
  for (let size = FIRST_BATCH, rows = ['']; rows.length > 0; ) {
    rows = (
      await reader.read<{ row: string }>(`fetch ${size} from tenant_rows`)
    ).map(({ row }) => row);
    yield rows;
    size = batchAfter(rows);
  }
  await reader.execute('close tenant_rows');
}

function batchAfter(rows: string[]): number {
  const length = rows.reduce((total, row) => total + row.length, 0);
  const fitting = Math.floor(
    (BATCH_LENGTH * rows.length) / Math.max(length, 1),
  );
  return Math.min(Math.max(fitting, 1), LARGEST_BATCH);
}

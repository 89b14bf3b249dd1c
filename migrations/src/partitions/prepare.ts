import { BulkCopy } from '../copy/BulkCopy';
import { catchUp, catchUpScript, SNAPSHOT } from '../copy/catchUp';
import {
  createChangeLog,
  createLogTriggers,
  logFunction,
} from '../copy/changeLog';
import { createReplay } from '../copy/replay';
import { describeCopy } from '../copy/TableCopy';
import type { TableCopy } from '../copy/TableCopy';
import { assertEqual, examineCopies } from '../copy/verifyCopies';
import type { Executor } from '../engine/Executor';
import type { StepContext } from '../engine/Step';
import {
  revokeAllStatement,
  secludeStatements,
} from '../phases/phase5_partitions/seclude';
import { addConstraint } from '../schema/changes';
import { catchAllPartition } from '../schema/partitions';
import { ADMIN_ROLE } from '../schema/roles';
import { identifyByAllColumns, identifyLike } from '../schema/replicaIdentity';
import { statisticsStatements, storageParameters } from '../schema/storage';
import { escapeIdentifier, escapeLiteral } from '../schema/sql';
import { TENANT_TABLES } from '../schema/tables';
import type { TenantTable } from '../schema/tables';
import type { MigrationSession } from '../session/MigrationSession';
import { createMoveFenceFunction } from './fence';
import { readIndexes } from './indexes';
import type { NewIndex } from './indexes';
import { PREPARATION, refuseTakenNames } from './leftovers';
import { PARTITION_LOG, tenantCheck, tenantPartition } from './names';
import type { Tenant } from './Tenant';

/**
 * Makes tables that only have to take their place: with the tenant's rows, kept up
 * to date by a change log, and everything that a partition needs. Nobody waits for
 * any of it. A preparation that was stopped is gone on with.
 */
export async function preparePartitions(
  context: StepContext,
  tenant: Tenant,
): Promise<TableCopy[]> {
  const { executor } = context;
  const copies = await describeCopies(executor, tenant);
  await createTables(context, tenant, copies);
  await logChanges(context, tenant);
  for (const copy of copies) {
    const bulk = new BulkCopy(context, copy, copy.target);
    await executor.work({
      title: `Copy the rows of "${tenant.slug}" from ${copy.source}`,
      script: executor.dryRun ? await bulk.script() : [],
      run: session => bulk.run(session),
    });
  }
  await executor.execute(createReplay(copies, PARTITION_LOG));
  await buildIndexes(context, copies);
  await addForeignKeys(context, copies);
  await verify(context, copies);
  return copies;
}

async function describeCopies(
  executor: Executor,
  { id, slug }: Tenant,
): Promise<TableCopy[]> {
  const copies: TableCopy[] = [];
  for (const table of TENANT_TABLES) {
    copies.push(
      await describeCopy(executor, table, {
        source: catchAllPartition(table),
        target: tenantPartition(table, slug),
        tenantId: id,
      }),
    );
  }
  return copies;
}

async function createTables(
  context: StepContext,
  tenant: Tenant,
  copies: TableCopy[],
): Promise<void> {
  const { executor, state } = context;
  await refuseTakenNames(context, copies);
  const statements: string[] = [];
  for (const { table, target } of copies) {
    statements.push(
      await createTable(executor, table, target, tenant),
      identifyByAllColumns(target),
      ...secludeStatements(target),
      ...(await statisticsStatements(executor, table, [target])),
    );
  }
  // Without its key, a row that moves during the copy would be there twice.
  const keys = await readIndexes(executor, 'entities', copies[0].target);
  await executor.transaction({
    title: `Create the tables of "${tenant.slug}"`,
    locks:
      'New tables: nobody waits for them. ACCESS SHARE on the three tables.',
    statements: [
      ...statements,
      ...keys.filter(key => key.primary).map(key => key.statement),
      state.put(PREPARATION, {
        ...tenant,
        tables: copies.map(copy => copy.target),
      }),
    ],
  });
}

async function createTable(
  executor: Executor,
  table: TenantTable,
  name: string,
  { id }: Tenant,
): Promise<string> {
  const storage = await storageParameters(executor, catchAllPartition(table));
  // A partition has the identity of its table, and none of its own.
  return `create table if not exists ${escapeIdentifier(name)} (
  like ${table} including all excluding indexes excluding identity,
  constraint ${tenantCheck(table)} check (tenant_id = ${escapeLiteral(id)})
)${storage}`;
}

async function logChanges(context: StepContext, tenant: Tenant): Promise<void> {
  const { executor, settings } = context;
  await executor.transaction({
    title: 'Create the change log',
    locks: 'New objects: nobody waits for them.',
    statements: [
      ...createChangeLog(settings.schema, tenant.id, PARTITION_LOG),
      createMoveFenceFunction,
      `alter table ${PARTITION_LOG.table} owner to ${ADMIN_ROLE}`,
      // Not even what default privileges give.
      revokeAllStatement(PARTITION_LOG.table),
      ...TENANT_TABLES.map(
        table =>
          `alter function ${logFunction(table, PARTITION_LOG)}() ` +
          `owner to ${ADMIN_ROLE}`,
      ),
    ],
  });
  for (const table of TENANT_TABLES) {
    const shared = catchAllPartition(table);
    await executor.transaction({
      title: `Log the changes of ${shared}`,
      locks:
        `SHARE ROW EXCLUSIVE on ${shared}, for a change of the catalog. It waits for ` +
        'the transactions that have written, so that none of them is missed.',
      tables: [shared],
      statements: createLogTriggers(table, shared, PARTITION_LOG),
    });
  }
}

async function buildIndexes(
  context: StepContext,
  copies: TableCopy[],
): Promise<void> {
  const { executor, reporter } = context;
  const all: NewIndex[] = [];
  for (const { table, target } of copies) {
    all.push(...(await readIndexes(executor, table, target)));
  }
  reporter.info(`Build ${all.length} indexes`);
  // SHARE on tables that only this command writes to.
  for (const { statement } of all.filter(({ unique }) => !unique)) {
    await executor.execute(statement);
  }
  await replay(context);
  // These need the copies as they are at one moment.
  for (const { statement } of all.filter(({ unique }) => unique)) {
    await executor.execute(statement);
  }
  for (const { source, target } of copies) {
    await executor.execute(identifyLike(source, target));
    await executor.execute(`vacuum (analyze) ${escapeIdentifier(target)}`);
  }
  await replay(context);
}

/**
 * All but those on entities: the rows of entities are deleted from the catch-all
 * partition when they move, which would delete what references them.
 */
async function addForeignKeys(
  context: StepContext,
  copies: TableCopy[],
): Promise<void> {
  for (const { table, target } of copies) {
    const keys = await context.executor.read<Record<string, string>>(
      `select conname as name, pg_get_constraintdef(oid) as definition,
              confrelid::regclass::text as referenced
         from pg_constraint
        where conrelid = to_regclass($1) and contype = 'f' and conparentid = 0
          and confrelid <> to_regclass('entities')
        order by conname`,
      [table],
    );
    for (const { name, definition, referenced } of keys) {
      await addConstraint(context, {
        table: target,
        name,
        definition,
        locks:
          `SHARE ROW EXCLUSIVE on ${referenced}, for a change of the catalog: foreign ` +
          'keys of the application go on being checked.',
      });
    }
  }
}

async function verify(
  context: StepContext,
  copies: TableCopy[],
): Promise<void> {
  await replay(context);
  await context.executor.work({
    title: 'Compare the copies with the rows that they were made of.',
    script: [],
    run: session =>
      session.transaction(SNAPSHOT, async () => {
        const read = <Row>(sql: string, values?: unknown[]) =>
          session.query<Row>(sql, values);
        assertEqual(await examineCopies(read, copies, PARTITION_LOG));
      }),
  });
  await replay(context);
}

async function replay(context: StepContext): Promise<void> {
  await context.executor.work({
    title: 'Replay the change log',
    script: catchUpScript(PARTITION_LOG),
    run: (session: MigrationSession) =>
      catchUp(context, session, PARTITION_LOG),
  });
}

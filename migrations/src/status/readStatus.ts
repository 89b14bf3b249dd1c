import { readAdoptedTenantStatus, readAdoptionStatus } from '../adopt/status';
import { CHANGE_LOG } from '../copy/changeLog';
import type { Executor } from '../engine/Executor';
import { STATE_TABLE } from '../engine/MigrationState';
import type { PhaseNumber } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { readStepRecords } from '../engine/journal';
import type { StepRecord } from '../engine/journal';
import { phases } from '../phases';
import { temporaryIndex } from '../phases/phase1_tenant_column/30_temporary_indexes';
import { readRowsOfOtherTenants } from '../rollback/losses';
import { readWayBack } from '../rollback/wayBack';
import { relationExists } from '../schema/lookups';
import { archiveName, oldName, partitionedName } from '../schema/partitions';
import { PRODUCT_TABLES } from '../productTables/migrations';
import { SEARCH_TABLES, TENANT_TABLES } from '../schema/tables';
import type {
  Leftover,
  StatusReport,
  StepStatus,
  TableStatus,
  WorkStatus,
} from './StatusReport';
import { readDistribution } from '../sharding/shards';
import { readEngines } from './engines';
import { readPackagesOfPortal } from './packages';
import { decideNext, readCatalogTables, readSwap } from './next';

/**
 * Reads where the migration stands, from catalogs and statistics. No table in use is
 * scanned.
 */
export async function readStatus(
  migration: Pick<
    TenancyMigration,
    'context' | 'operator' | 'completedPhase' | 'unfinishedUndo'
  >,
): Promise<StatusReport> {
  const { executor, settings } = migration.context;
  const records = await readStepRecords(executor);
  const steps = stepsOf(records);
  const phase = await migration.completedPhase();
  const swap = await readSwap(migration.context);
  const adoption = await readAdoptionStatus(migration.context);
  const back = await readWayBack(
    migration,
    records.map(({ name }) => name),
  );
  return {
    schema: settings.schema,
    phase,
    phaseBegun: phaseBegun(steps, phase),
    steps,
    rollbackBegun: (await migration.unfinishedUndo()) !== undefined,
    next: decideNext({
      schema: settings.schema,
      phase,
      tables: await readCatalogTables(migration.context, phase),
      adoption,
      swap,
    }),
    back,
    operator: (await migration.operator()) ?? null,
    tables: await readTables(executor),
    work: await readWork(executor),
    swap,
    changeLog: await readChangeLog(executor),
    adoption: adoption.engineTables || adoption.begun ? adoption : null,
    adoptedTenants: await readAdoptedTenantStatus(migration.context),
    engines: await readEngines(migration.context),
    packages: readPackagesOfPortal(process.cwd()),
    leftovers: await readLeftovers(executor),
    distribution:
      (await readDistribution(
        (sql, values) => executor.read(sql, values),
        settings.schema,
      )) ?? null,
  };
}

function stepsOf(records: StepRecord[]): StepStatus[] {
  return phases.flatMap(({ number, steps, productMigrations = [] }) =>
    [...productMigrations, ...steps].map(({ name, title }) => ({
      name,
      title,
      phase: number,
      doneAt: records.find(record => record.name === name)?.time ?? null,
    })),
  );
}

function phaseBegun(
  steps: StepStatus[],
  completed: PhaseNumber | 0,
): PhaseNumber | null {
  const step = steps.find(
    ({ phase, doneAt }) => phase > completed && doneAt !== null,
  );
  return step?.phase ?? null;
}

/** Steps that work in ranges of pages keep a cursor of the same form. */
async function readWork(executor: Executor): Promise<WorkStatus[]> {
  if (!(await relationExists(executor, STATE_TABLE))) {
    return [];
  }
  return executor.read<WorkStatus>(
    `select key as name,
            least((value -> 'next')::float8, (value -> 'end')::float8) as "pagesDone",
            (value -> 'end')::float8 as pages
       from ${STATE_TABLE}
      where jsonb_typeof(value -> 'next') = 'number'
        and jsonb_typeof(value -> 'end') = 'number'
      order by key`,
  );
}

// A partitioned table has no rows of its own, and neither has it a size. What was
// never analysed has -1 rows; the cumulative statistics know about those.
const SIZES = `
  select t.name,
         count(*) filter (where c.oid <> t.oid)::int as partitions,
         coalesce(sum(case when c.reltuples >= 0 then c.reltuples
                           else pg_stat_get_live_tuples(c.oid) end)
                    filter (where c.relkind = 'r'), 0)::float8 as rows,
         coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 as bytes
    from (select name, to_regclass(quote_ident(name)) as oid,
                 ordinality as position
            from unnest($1::text[]) with ordinality as names (name, ordinality)) t
    join pg_class c on c.oid = t.oid or c.oid in (
           select relid from pg_partition_tree(t.oid))
   group by t.name, t.position order by t.position`;

/** The tables of the catalog, and those that stand beside them for a time. */
async function readTables(executor: Executor): Promise<TableStatus[]> {
  return executor.read<TableStatus>(SIZES, [
    [
      'tenants',
      ...PRODUCT_TABLES.map(({ name }) => name),
      ...TENANT_TABLES,
      ...SEARCH_TABLES,
      ...TENANT_TABLES.flatMap(table => [
        partitionedName(table),
        oldName(table),
        archiveName(table),
      ]),
    ],
  ]);
}

/** How much the change log holds; it is there during phase 5 and until the cleanup. */
async function readChangeLog(
  executor: Executor,
): Promise<StatusReport['changeLog']> {
  // It is emptied all the time: what VACUUM last saw says nothing.
  const [log] = await executor.read<{ rows: number; bytes: number }>(
    `select pg_stat_get_live_tuples(oid)::float8 as rows,
            pg_total_relation_size(oid)::float8 as bytes
       from pg_class where oid = to_regclass('${CHANGE_LOG}')`,
  );
  return log ?? null;
}

const LEFTOVERS = `
  select 'temporary index' as kind, i.relname as name, t.relname as "table"
    from pg_index x join pg_class i on i.oid = x.indexrelid
    join pg_class t on t.oid = x.indrelid
   where t.relnamespace = quote_ident(current_schema())::regnamespace
     and i.relname = any ($1) and x.indisvalid
  union all
  select 'invalid index', i.relname, t.relname
    from pg_index x join pg_class i on i.oid = x.indexrelid
    join pg_class t on t.oid = x.indrelid
   where t.relnamespace = quote_ident(current_schema())::regnamespace
     and t.relname = any ($2) and not x.indisvalid
  union all
  select 'constraint not validated', c.conname, t.relname
    from pg_constraint c join pg_class t on t.oid = c.conrelid
   where t.relnamespace = quote_ident(current_schema())::regnamespace
     and t.relname = any ($2) and not c.convalidated
  union all
  select 'table', relname, relname from pg_class
   where relnamespace = quote_ident(current_schema())::regnamespace
     and relkind in ('r', 'p') and relname = any ($3)
   order by 1, 3, 2`;

/**
 * What a step leaves for a later one, or left because it was interrupted. The rows of
 * an archive are counted: those of other tenants, which are nowhere else.
 */
async function readLeftovers(executor: Executor): Promise<Leftover[]> {
  const found = await executor.read<Leftover>(LEFTOVERS, [
    TENANT_TABLES.map(temporaryIndex),
    [...TENANT_TABLES, ...TENANT_TABLES.map(partitionedName)],
    TENANT_TABLES.flatMap(table => [
      partitionedName(table),
      archiveName(table),
    ]),
  ]);
  const leftovers: Leftover[] = [];
  for (const leftover of found) {
    leftovers.push(
      leftover.kind === 'table'
        ? {
            ...leftover,
            otherTenants: await readRowsOfOtherTenants(executor, leftover.name),
          }
        : leftover,
    );
  }
  return leftovers;
}

import { readAdoptedTenantStatus, readAdoptionStatus } from '../adopt/status';
import { CHANGE_LOG } from '../copy/changeLog';
import type { Executor } from '../engine/Executor';
import type { PhaseNumber } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { readStepRecords } from '../engine/journal';
import type { StepRecord } from '../engine/journal';
import { phases } from '../phases';
import { readRowsOfOtherTenants } from '../rollback/losses';
import type { TenantRows } from '../rollback/losses';
import { readWayBack } from '../rollback/wayBack';
import { relationExists } from '../schema/lookups';
import { archiveName, oldName, partitionedName } from '../schema/partitions';
import { PRODUCT_TABLES } from '../productTables/migrations';
import { SEARCH_TABLES, TENANT_TABLES } from '../schema/tables';
import { readDistribution } from '../sharding/shards';
import { readEngines } from './engines';
import { readNext, readSwap } from './next';

/** Where the migration of a schema stands: the JSON document of `status`. */
export type StatusReport = Awaited<ReturnType<typeof readStatus>>;

/** A step, and when it was done; `null` while it is not. */
interface StepStatus {
  name: string;
  title: string;
  phase: PhaseNumber;
  doneAt: Date | null;
}

/** A table, by PostgreSQL's statistics: rows are estimates. Partitions count as its own. */
interface TableStatus {
  name: string;
  rows: number;
  bytes: number;
  /** 0 for a table that is not partitioned. */
  partitions: number;
}

/** A partitioned table that is not in use, which a later command is expected to remove. */
interface Leftover {
  name: string;
  /** What it holds of tenants for which the tables in use have no room. */
  otherTenants: TenantRows[];
}

/**
 * Reads where the migration stands, from catalogs and statistics. No table in use is
 * scanned.
 */
export async function readStatus(
  migration: Pick<
    TenancyMigration,
    'context' | 'operator' | 'completedPhase' | 'unfinishedUndo'
  >,
) {
  const { executor, settings } = migration.context;
  const records = await readStepRecords(executor);
  const steps = stepsOf(records);
  const phase = await migration.completedPhase();
  const adoption = await readAdoptionStatus(migration.context);
  const back = await readWayBack(
    migration,
    records.map(({ name }) => name),
  );
  return {
    schema: settings.schema,
    phase,
    /** The phase that has begun and is not complete. */
    phaseBegun: phaseBegun(steps, phase),
    steps,
    rollbackBegun: (await migration.unfinishedUndo()) !== undefined,
    next: await readNext(migration),
    back,
    operator: (await migration.operator()) ?? null,
    tables: await readTables(executor),
    swap: await readSwap(migration.context),
    /** The catalog whose entities are the default tenant's. */
    adoption: adoption.engineTables || adoption.begun ? adoption : null,
    adoptedTenants: await readAdoptedTenantStatus(migration.context),
    engines: await readEngines(migration.context),
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
      CHANGE_LOG,
    ],
  ]);
}

/** Rows of other tenants in an archive are nowhere else. */
async function readLeftovers(executor: Executor): Promise<Leftover[]> {
  const leftovers: Leftover[] = [];
  for (const name of TENANT_TABLES.flatMap(table => [
    partitionedName(table),
    archiveName(table),
  ])) {
    if (await relationExists(executor, name)) {
      const otherTenants = await readRowsOfOtherTenants(executor, name);
      leftovers.push({ name, otherTenants });
    }
  }
  return leftovers;
}

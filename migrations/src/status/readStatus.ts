import { readAdoptedTenantStatus, readAdoptionStatus } from '../adopt/status';
import { CHANGE_LOG } from '../copy/changeLog';
import type { PhaseNumber } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { readStepRecords } from '../engine/journal';
import type { StepRecord } from '../engine/journal';
import { phases } from '../phases';
import { readWayBack } from '../rollback/wayBack';
import { existingTables } from '../schema/lookups';
import { archiveName, oldName, partitionedName } from '../schema/partitions';
import { PRODUCT_TABLES } from '../productTables/migrations';
import { SEARCH_TABLES, TENANT_TABLES } from '../schema/tables';
import { readDistribution } from '../sharding/shards';
import { readEngines } from './engines';
import { readNext, readSwap } from './next';

/** Where the migration of a schema stands: the JSON document of `status`. */
export type StatusReport = Awaited<ReturnType<typeof readStatus>>;

const TABLES = [
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
];

/** A step, and when it was done; `null` while it is not. */
interface StepStatus {
  name: string;
  title: string;
  phase: PhaseNumber;
  doneAt: Date | null;
}

/**
 * Reads where the migration stands, from catalogs. No table in use is scanned.
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
    /** The names of the tables of the catalog, and of those that stand beside them for a time. */
    tables: await existingTables(executor, TABLES),
    swap: await readSwap(migration.context),
    /** The catalog whose entities are the default tenant's. */
    adoption: adoption.engineTables || adoption.begun ? adoption : null,
    adoptedTenants: await readAdoptedTenantStatus(migration.context),
    engines: await readEngines(migration.context),
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

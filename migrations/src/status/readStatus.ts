import { readAdoptedTenantStatus, readAdoptionStatus } from '../adopt/status';
import type { PhaseNumber } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';
import { readStepRecords } from '../engine/journal';
import type { StepRecord } from '../engine/journal';
import { OWN_TABLES } from '../ownTables';
import { phases } from '../phases';
import { readCreatedCatalog } from '../schema/createdCatalog';
import { existingTables } from '../schema/lookups';
import { readDistribution } from '../sharding/shards';
import { readEngines } from './engines';
import { readNext, readSwap } from './next';
import { readUnfinished } from './unfinished';

/** Where the migration of a schema stands: the JSON document of `status`. */
export type StatusReport = Awaited<ReturnType<typeof readStatus>>;

/** A step, and when it was done; `null` while it is not. */
interface StepStatus {
  name: string;
  title: string;
  phase: PhaseNumber;
  doneAt: Date | null;
}

/** Reads where the migration stands, of a large catalog not how many entities it has. */
export async function readStatus(
  migration: Pick<
    TenancyMigration,
    'context' | 'operator' | 'completedPhase' | 'isUpToDate' | 'unfinishedUndo'
  >,
) {
  const { executor, settings } = migration.context;
  const records = await readStepRecords(executor);
  const steps = stepsOf(records);
  const phase = await migration.completedPhase();
  const adoption = await readAdoptionStatus(migration.context);
  return {
    schema: settings.schema,
    phase,
    /** The phase that has begun and is not complete. */
    phaseBegun:
      steps.find(each => each.phase > phase && each.doneAt !== null)?.phase ??
      null,
    steps,
    rollbackBegun:
      (await migration.unfinishedUndo()) !== undefined ||
      (await readCreatedCatalog(migration.context))?.dropping === true,
    next: await readNext(migration, adoption),
    /** What was begun of tenants, and is not complete. */
    unfinished: await readUnfinished(migration.context),
    operator: (await migration.operator()) ?? null,
    /** The names of the catalog's tables and of the product's own that exist. */
    tables: await existingTables(
      executor,
      OWN_TABLES.map(({ name }) => name),
    ),
    swap: await readSwap(migration.context),
    /** The catalog whose entities are the default tenant's. */
    adoption: adoption.engineTables || adoption.begun ? adoption : null,
    adoptedTenants: await readAdoptedTenantStatus(migration.context),
    engines: await readEngines(migration.context),
    distribution:
      (await readDistribution(executor.read, settings.schema)) ?? null,
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
